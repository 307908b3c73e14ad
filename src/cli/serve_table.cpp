#include "cli/serve_options.h"

#include <array>

#include "engine/engine.h"

namespace continuo::cli {

namespace {

using Server = server::ServerOptions;
using Limits = server::Limits;

constexpr double day = 86'400.0;
constexpr double kilo = 1024.0, giga = 1024.0 * 1024.0 * 1024.0;

// The defaults in the help are those of server/options.h; serve_options_test.cpp compares them.
constexpr std::array table{
    ServeOption{"host", "ADDRESS", "address or name to listen on (default 127.0.0.1: this machine only)", &Server::host},
    ServeOption{"port", "N", "port to listen on; 0: any free one (default 8080)", &Server::port, 0, 65'535},
    ServeOption{"api-key-file", "FILE", "API keys, one `name: key` a line; every route but /health then needs one",
                &Server::api_key_file},
    ServeOption{"expose-without-key", "", "listen on another address than loopback although nobody needs a key",
                &Server::expose_without_key},
    ServeOption{"host-name", "NAMES", "names by which clients may address this server, with commas between", &Server::host_names},
    ServeOption{"origin", "ORIGINS", "web pages that may call: https://music.example, with commas between (default: none)",
                &Server::origins},
    ServeOption{"webhook-host", "NAMES", "hosts that may be told when a job ends, with commas between (default: none)",
                &Server::webhook_hosts},
    ServeOption{"data", "DIR", "folder of takes, jobs and uploads (default: ~/.local/share/continuo/server)",
                &Server::data_folder},
    ServeOption{"scenes", "FILE", "table of scenes for live music (default: a built-in one)", &Server::scenes_file},
    ServeOption{"log-level", "LEVEL", "debug, info, warning, error or off (default info)", &Server::log_level},
    ServeOption{"log-format", "FORMAT", "json, text, or auto: text on a terminal, else JSON (default auto)", &Server::log_format},
    ServeOption{"log-prompts", "", "write what people ask for into the log", &Server::log_prompts},
    ServeOption{"grace", "SECONDS", "for running jobs when the server is told to stop (default 10)", &Server::grace_seconds, 0,
                3600},
    ServeOption{"max-queue", "N", "pieces that wait, besides those that run; beyond that 429 (default 10)", &Limits::queue, 0,
                100'000},
    ServeOption{"max-rows", "N", "rows of a step, of all models; 0: what the memory gives (default 0)", &Limits::rows, 0, 1024},
    ServeOption{"max-seconds", "SECONDS", "length of a piece (default 600)", &Limits::seconds, 1, engine::longest_seconds},
    ServeOption{"max-takes", "N", "takes of a job (default 8)", &Limits::takes, 1, 256},
    ServeOption{"max-segments", "N", "prompts of a relay (default 32)", &Limits::segments, 1, 256},
    ServeOption{"max-batch", "N", "prompts of a batch (default 32)", &Limits::batch, 1, 10'000},
    ServeOption{"max-prompt-bytes", "N", "length of a prompt (default 4096)", &Limits::prompt_bytes, 1,
                double{engine::max_prompt_bytes}},
    ServeOption{"max-body", "SIZE", "of a request (default 1M)", &Limits::body_bytes, kilo, giga},
    ServeOption{"max-upload", "SIZE", "of an uploaded recording (default 64M)", &Limits::upload_bytes, kilo, 64 * giga},
    ServeOption{"max-upload-seconds", "SECONDS", "of its sound (default 600)", &Limits::upload_seconds, 1, 14'400},
    ServeOption{"max-uploads", "N", "uploads kept at once (default 100)", &Limits::uploads, 1, 100'000},
    ServeOption{"upload-keep", "SECONDS", "how long an upload is kept (default 3600)", &Limits::upload_keep_seconds, 1,
                365 * day},
    ServeOption{"requests-per-minute", "N", "for music, of one client; 0: no limit (default 120)", &Limits::requests_per_minute,
                0, 1'000'000},
    ServeOption{"max-connections", "N", "(default 512)", &Limits::connections, 1, 100'000},
    ServeOption{"max-connections-per-client", "N", "0: no limit (default 0)", &Limits::connections_per_client, 0, 100'000},
    ServeOption{"header-timeout", "SECONDS", "for the head of a request to arrive (default 10)", &Limits::header_seconds, 0.1,
                day},
    ServeOption{"body-timeout", "SECONDS", "for its body (default 60)", &Limits::body_seconds, 0.1, day},
    ServeOption{"idle-timeout", "SECONDS", "for the next request on a connection (default 75)", &Limits::idle_seconds, 0.1, day},
    ServeOption{"write-timeout", "SECONDS", "for a client to take anything of an answer (default 60)", &Limits::write_seconds,
                0.1, day},
    ServeOption{"resume-timeout", "SECONDS", "that a broken stream waits for its client (default 60)", &Limits::resume_seconds, 0,
                day},
    ServeOption{"job-keep", "SECONDS", "how long an ended job is known (default 3600)", &Limits::job_keep_seconds, 1, 365 * day},
    ServeOption{"max-jobs-kept", "N", "ended jobs known at once (default 1000)", &Limits::jobs_kept, 1, 1'000'000},
    ServeOption{"max-renditions", "SIZE", "of encoded copies on the disk (default 1G)", &Limits::renditions_bytes, kilo,
                1024.0 * giga},
};

}  // namespace

std::span<const ServeOption> serve_options() { return table; }

SettingKind kind_of(const ServeOption& option) {
  struct Kind {
    SettingKind operator()(bool Server::*) const { return SettingKind::flag; }
    SettingKind operator()(std::vector<std::string> Server::*) const { return SettingKind::list; }
    SettingKind operator()(double Server::*) const { return SettingKind::number; }
    SettingKind operator()(double Limits::*) const { return SettingKind::number; }
    SettingKind operator()(std::string Server::*) const { return SettingKind::text; }
    SettingKind operator()(int Server::*) const { return SettingKind::text; }
    SettingKind operator()(int Limits::*) const { return SettingKind::text; }
    SettingKind operator()(std::size_t Limits::*) const { return SettingKind::text; }
    SettingKind operator()(std::int64_t Limits::*) const { return SettingKind::text; }
  };
  return std::visit(Kind{}, option.target);
}

}  // namespace continuo::cli

#include "server/service.h"

#include <utility>  // before Asio

#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "audio/encoder.h"
#include "base/memory.h"
#include "server/adapters.h"
#include "server/front.h"
#include "server/http/connection.h"
#include "server/job_metrics.h"
#include "server/jobs/jobs.h"
#include "server/loaded_models.h"
#include "server/parts.h"
#include "server/routes/audio.h"
#include "server/routes/generate.h"
#include "server/routes/jobs.h"
#include "server/routes/live.h"
#include "server/routes/openapi.h"
#include "server/routes/operations.h"
#include "server/routes/speech.h"
#include "server/routes/stream.h"
#include "server/routes/takes.h"
#include "server/routes/uploads.h"
#include "server/takes_service.h"
#include "server/uploads.h"

namespace continuo::server {

namespace asio = boost::asio;
using asio::ip::tcp;

namespace {

// Encoding and disks: what can be done beside the compute threads without taking much from them.
constexpr int pool_threads = 2;
constexpr auto sweep_every = std::chrono::seconds(30);
constexpr double farewell_seconds = 2.0;  // for clients to take the last words
constexpr double patience_seconds = 8.0;  // for handlers to end once their connections are cut

Task<void> pause(std::chrono::steady_clock::duration duration) {
  asio::steady_timer timer(co_await asio::this_coro::executor, duration);
  boost::system::error_code ignored;
  co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
}

std::uint64_t drawn_seed() {
  std::random_device device;
  return device();
}

/// Connections, recordings that grow and renditions in use have a descriptor each; the usual 1024 are for programs that use
/// select().
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 65'536);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

std::string url_of(const tcp::endpoint& endpoint) {
  const auto address = endpoint.address();
  const std::string host = address.is_v6() ? "[" + address.to_string() + "]" : address.to_string();
  return fmt::format("http://{}:{}", host, endpoint.port());
}

Result<std::string> subfolder(const std::string& folder, const char* name) {
  const std::filesystem::path path = std::filesystem::path(folder) / name;
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) return fail(ErrorCode::io, "cannot make the folder {}: {}", path.string(), error.message());
  return path.string();
}

}  // namespace

// In the order in which things are made; they go the other way round.
struct Service::State {
  State(ServerOptions given, Hosts known) : options(std::move(given)), hosts(std::move(known)) {}

  ServerOptions options;
  Hosts hosts;
  std::unique_ptr<Log> log;
  std::unique_ptr<Metrics> metrics;
  std::optional<JobMetrics> job_metrics;
  std::unique_ptr<Keys> keys;
  std::unique_ptr<LoadedModels> models;
  SceneTable scenes = SceneTable::built_in();

  asio::io_context io{1};
  std::unique_ptr<Pool> pool;
  std::shared_ptr<library::Database> database;
  std::unique_ptr<library::TakeLibrary> takes;
  std::unique_ptr<library::JobRecords> records;
  std::unique_ptr<library::Retention> retention;
  std::unique_ptr<Prompts> prompts;
  std::unique_ptr<Uploads> uploads;
  std::unique_ptr<UploadedSounds> sounds;
  std::unique_ptr<Renditions> renditions;
  std::unique_ptr<JobStore> store;
  std::unique_ptr<Webhooks> webhooks;
  std::unique_ptr<Jobs> jobs;

  std::optional<Parts> parts;
  Router router;
  std::unique_ptr<SpeechRoutes> speech;
  std::unique_ptr<GenerateRoutes> generate;
  std::unique_ptr<StreamRoutes> streams;
  std::unique_ptr<LiveRoutes> live;
  std::unique_ptr<AudioRoutes> audio;
  std::unique_ptr<TakesRoutes> take_routes;
  std::unique_ptr<UploadRoutes> upload_routes;
  std::unique_ptr<OperationsRoutes> operations;
  std::unique_ptr<OpenApiRoutes> description;
  PeakTable peaks;
  std::unique_ptr<Front> front;
  std::shared_ptr<ConnectionContext> connections = std::make_shared<ConnectionContext>();
  std::optional<tcp::acceptor> acceptor;

  std::optional<Wake> stop_retention;
  bool ready = false, stopping = false;
  Status ended;

  Status open_data();
  Status listen();
  void make_routes();
  RequestContext context(const std::string& client) const;
  Front::Hooks hooks();

  Task<std::string> similar(std::string prompt);
  Task<void> accept_all();
  Task<void> start(engine::EngineOptions engine);
  Task<void> sweep();
  Task<void> on_signals(asio::signal_set& signals);
  Task<void> stop();
};

Status Service::State::open_data() {
  const std::string& folder = options.data_folder;
  CONTINUO_TRY(database, library::Database::open(folder));
  CONTINUO_TRY(takes, library::TakeLibrary::open(database));
  records = std::make_unique<library::JobRecords>(database);
  retention = std::make_unique<library::Retention>(database);
  Prompts::Options index;
  index.folder = folder;
  index.encoder = models->text_identity();
  const auto fingerprint = [this](const std::string& prompt) { return models->list().front()->engine->fingerprint(prompt); };
  prompts = std::make_unique<Prompts>(std::move(index), fingerprint, *takes, *pool);
  CONTINUO_TRY(const std::string uploaded, subfolder(folder, "uploads"));
  CONTINUO_TRY(uploads, Uploads::open(uploaded, options.limits, seconds_since_1970()));
  sounds = sounds_of(*uploads);
  CONTINUO_TRY(const std::string spool, subfolder(folder, "renditions"));
  CONTINUO_TRY(renditions, Renditions::create(spool, options.limits.renditions_bytes, *pool));
  store = store_in_library(*takes, *records, [this](const library::Take& take) {
    if (prompts != nullptr) prompts->add(take.prompt);
  });
  Webhooks::Options hooks;
  hooks.hosts = options.webhook_hosts;
  hooks.trouble = [this](const std::string& what) { log->warning("a webhook failed", {{"error", what}}); };
  webhooks = std::make_unique<Webhooks>(std::move(hooks));

  JobParts needs;
  needs.models = models.get();
  needs.limits = options.limits;
  needs.webhook_hosts = options.webhook_hosts;
  needs.pool = pool.get();
  needs.io = io.get_executor();
  needs.store = store.get();
  needs.uploads = sounds.get();
  needs.webhooks = webhooks.get();
  needs.observer = &*job_metrics;
  CONTINUO_TRY(needs.recordings, subfolder(folder, "takes"));
  jobs = make_job_table(std::move(needs));
  return {};
}

RequestContext Service::State::context(const std::string& client) const {
  RequestContext context;
  for (const Models::Model* model : models->list()) context.models.push_back({model->id, &models->config(model->id)});
  context.limits = options.limits;
  context.draw_seed = drawn_seed;
  context.webhook_hosts = options.webhook_hosts;
  context.client = client;
  return context;
}

Front::Hooks Service::State::hooks() {
  Front::Hooks hooks;
  hooks.answered = [this](const std::string& route, int status, double) { metrics->answered(route, status); };
  hooks.connections = [this](int change) { metrics->connections(change); };
  hooks.rejected = [this](const std::string& reason) { metrics->rejected(reason); };
  hooks.unready = [this](const Router::Route& route) -> std::optional<ApiError> {
    if (stopping && route.options.makes_music)
      return ApiError{503, "the server is stopping and takes in nothing new", {}, "stopping"};
    if (!ready && !route.options.open)
      return ApiError{503, "the models are being loaded; /health says when that is done", {}, "loading"};
    return std::nullopt;
  };
  return hooks;
}

void Service::State::make_routes() {
  parts.emplace(Parts{options, *jobs, *renditions, *pool, scenes, *log, io.get_executor(),
                      [this](const std::string& client) { return context(client); },
                      [this](const std::string& model) -> engine::Engine* {
                        const Models::Model* found = models->find(model);
                        return found == nullptr ? nullptr : found->engine;
                      },
                      [this](int change) { metrics->streams(change); }, [this] { return stopping; }});
  speech = std::make_unique<SpeechRoutes>(*parts);
  speech->add_to(router);
  generate = std::make_unique<GenerateRoutes>(*parts, [this](const std::string& prompt) { return similar(prompt); });
  generate->add_to(router);
  streams = std::make_unique<StreamRoutes>(*parts);
  streams->add_to(router);
  live = std::make_unique<LiveRoutes>(*parts);
  live->add_to(router);
  JobRoutes job_routes;
  job_routes.jobs = jobs.get();
  job_routes.io = io.get_executor();
  job_routes.limits = options.limits;
  job_routes.context = [this](const HttpRequest& request) { return context(request.client); };
  add_job_routes(router, job_routes);
  audio = std::make_unique<AudioRoutes>(*jobs, *renditions, *pool);
  audio->add_to(router);
  upload_routes = std::make_unique<UploadRoutes>(*uploads, *pool, options.limits);
  upload_routes->add_to(router);
  take_routes = std::make_unique<TakesRoutes>(TakesRoutes::Parts{*takes, *retention, *prompts, *renditions, peaks, *pool});
  take_routes->add_to(router);
  const auto state = [this] { return stopping ? ServerState::stopping : ready ? ServerState::serving : ServerState::loading; };
  operations = std::make_unique<OperationsRoutes>(OperationsRoutes::Needs{
      options, *models, *metrics, *log, state, [this](const std::string& model) { return jobs->held(model); }});
  operations->add_to(router);
  description = std::make_unique<OpenApiRoutes>(options.version);
  description->add_to(router);
}

Task<std::string> Service::State::similar(std::string prompt) {
  nlohmann::json list = nlohmann::json::array();
  const auto found = co_await prompts->similar(std::move(prompt));
  if (found) {  // an index that is not ready offers nothing
    for (const Prompts::Similar& each : *found) {
      list.push_back({{"prompt", each.prompt}, {"similarity", each.similarity}, {"takes", each.takes}});
    }
  }
  co_return list.dump();
}

Status Service::State::listen() {
  boost::system::error_code error;
  tcp::resolver resolver(io);
  const auto found = resolver.resolve(options.host, std::to_string(options.port),
                                      tcp::resolver::passive | tcp::resolver::numeric_service, error);
  if (error || found.empty()) {
    return fail(ErrorCode::invalid_argument, "--host {}: this machine has no such address ({})", options.host, error.message());
  }
  const tcp::endpoint endpoint = *found.begin();
  acceptor.emplace(io);
  acceptor->open(endpoint.protocol(), error);
  if (!error) acceptor->set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor->bind(endpoint, error);
  if (!error) acceptor->listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return fail(ErrorCode::io, "cannot listen on {}: {}; another program may have this port, --port chooses another",
                url_of(endpoint), error.message());
  }
  return {};
}

Task<void> Service::State::accept_all() {
  while (acceptor->is_open()) {
    boost::system::error_code error;
    tcp::socket socket = co_await acceptor->async_accept(asio::redirect_error(asio::use_awaitable, error));
    if (error == asio::error::operation_aborted) break;
    if (error) {
      // Out of descriptors, most likely: those that are open go on.
      log->error("a connection could not be taken", {{"error", error.message()}});
      co_await pause(std::chrono::milliseconds(100));
      continue;
    }
    asio::co_spawn(io, serve_connection(std::move(socket), connections), asio::detached);
  }
}

Task<void> Service::State::start(engine::EngineOptions engine) {
  const auto begin = std::chrono::steady_clock::now();
  auto load = [this, engine] { return models->load(engine); };
  ended = co_await pool->run(std::move(load));
  if (!ended) {
    log->error("a model could not be loaded", {{"error", ended.error().message}});
    // As at any other end, so that nothing outlives what it needs.
    if (!stopping) asio::co_spawn(io, stop(), asio::detached);
    co_return;
  }
  if (stopping) co_return;
  models->publish();
  // An index that is there is loaded. To make one costs some 250 fingerprints, so that waits until somebody asks for it.
  if (std::filesystem::exists(std::filesystem::path(options.data_folder) / library::prompt_index_file)) prompts->start();
  // FFmpeg's libraries take a tenth of a second to load, which the first who asks for a format should not wait for.
  pool->post([] {
    audio::EncoderOptions mp3;
    mp3.format = audio::FileFormat::mp3;
    static_cast<void>(audio::check_encoder(mp3));
  });
  co_await jobs->resume();
  ready = true;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  log->info("ready", {{"seconds", took.count()}, {"url", url_of(acceptor->local_endpoint())}});
}

Task<void> Service::State::sweep() {
  for (;;) {
    co_await pause(sweep_every);
    auto work = [this] { uploads->sweep(seconds_since_1970()); };
    co_await pool->run(std::move(work));
  }
}

Task<void> Service::State::on_signals(asio::signal_set& signals) {
  for (;;) {
    boost::system::error_code error;
    const int signal = co_await signals.async_wait(asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return;
    if (signal == SIGHUP) {
      if (keys == nullptr) continue;
      const Status status = keys->reload();
      if (status) {
        log->info("the API keys were read again", {{"keys", static_cast<std::int64_t>(keys->count())}});
      } else {
        log->error("the API keys could not be read again; the old ones stay", {{"error", status.error().message}});
      }
      continue;
    }
    if (stopping) ::_exit(128 + signal);
    log->info("stopping", {{"grace_seconds", options.grace_seconds}});
    asio::co_spawn(io, stop(), asio::detached);
  }
}

Task<void> Service::State::stop() {
  stopping = true;
  co_await jobs->drain(options.grace_seconds);
  auto forget = [this] { return records->forget_tries(); };
  const Status forgotten = co_await pool->run(std::move(forget));
  if (!forgotten) log->error("the records of jobs could not be written", {{"error", forgotten.error().message}});
  live->stop();
  connections->stopping = true;
  boost::system::error_code ignored;
  acceptor->close(ignored);
  const auto until = [](double seconds) { return std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds); };
  for (const auto end = until(farewell_seconds); connections->open() > 0 && std::chrono::steady_clock::now() < end;) {
    connections->close_idle();
    co_await pause(std::chrono::milliseconds(10));
  }
  connections->close_all();
  for (const auto end = until(patience_seconds); connections->open() > 0 && std::chrono::steady_clock::now() < end;) {
    co_await pause(std::chrono::milliseconds(10));
  }
  if (connections->open() > 0) {
    // A handler that does not end holds on to what is about to go.
    log->error("some connections did not end", {{"connections", static_cast<std::int64_t>(connections->open())}});
    ::_exit(1);
  }
  io.stop();
}

Service::Service(std::unique_ptr<State> state) : state_(std::move(state)) {}

Service::~Service() {
  // The engines end before the table that listens to them.
  if (state_->pool != nullptr) state_->pool->stop();
  state_->prompts.reset();
  if (state_->models != nullptr) state_->models->unload();
}

Result<std::unique_ptr<Service>> Service::open(const ServerOptions& options, const std::vector<ModelFile>& models) {
  CONTINUO_TRY(Hosts hosts, Hosts::create(options.host, options.host_names, options.origins));
  auto state = std::make_unique<State>(options, std::move(hosts));
  Log::Options logging;
  CONTINUO_TRY(logging.level, parse_log_level(options.log_level));
  CONTINUO_TRY(logging.form, parse_log_format(options.log_format));
  logging.prompts = options.log_prompts;
  state->log = Log::create(logging);
  state->metrics = Metrics::create(options.version);
  state->job_metrics.emplace(*state->metrics, *state->log);
  if (!options.api_key_file.empty()) {
    CONTINUO_TRY(state->keys, Keys::load(options.api_key_file));
    if (const auto warning = state->keys->warning()) state->log->warning(*warning);
  }
  if (state->keys == nullptr && !is_loopback(options.host) && !options.expose_without_key) {
    return fail(ErrorCode::invalid_argument,
                "--host {} can be reached from other machines, and without a key anybody there could use this one: give "
                "--api-key-file, or --expose-without-key if that is meant",
                options.host);
  }
  if (!options.scenes_file.empty()) {
    CONTINUO_TRY(state->scenes, SceneTable::load(options.scenes_file));
  }
  CONTINUO_TRY(state->models, LoadedModels::open(models));
  state->pool = std::make_unique<Pool>(pool_threads);
  CONTINUO_CHECK(state->open_data());
  state->make_routes();
  state->front =
      std::make_unique<Front>(state->router, state->hosts, state->keys.get(), options.limits, *state->log, state->hooks());
  state->connections->gate = state->front.get();
  state->connections->limits = options.limits;
  state->connections->server_name = "continuo";
  CONTINUO_CHECK(state->listen());
  return std::unique_ptr<Service>(new Service(std::move(state)));
}

const Router& Service::routes() const { return state_->router; }

Status Service::run(const engine::EngineOptions& engine) {
  State& state = *state_;
  give_memory_back_early();
  std::signal(SIGPIPE, SIG_IGN);
  raise_descriptor_limit();
  asio::signal_set signals(state.io, SIGTERM, SIGINT, SIGHUP);
  state.log->info("listening", {{"url", url_of(state.acceptor->local_endpoint())}, {"version", state.options.version}});
  asio::co_spawn(state.io, state.on_signals(signals), asio::detached);
  asio::co_spawn(state.io, state.accept_all(), asio::detached);
  asio::co_spawn(state.io, state.start(engine), asio::detached);
  asio::co_spawn(state.io, state.sweep(), asio::detached);
  state.stop_retention.emplace(state.io.get_executor());
  const auto removed = [&state](const Result<std::vector<library::RemovedTake>>& takes) {
    if (!takes) {
      state.log->error("old takes could not be deleted", {{"error", takes.error().message}});
      return;
    }
    state.take_routes->forget(*takes);
    state.log->info("old takes were deleted, as the schedule says", {{"takes", static_cast<std::int64_t>(takes->size())}});
  };
  asio::co_spawn(state.io, keep_retention(*state.retention, *state.pool, *state.stop_retention, removed), asio::detached);
  state.io.run();
  return state.ended;
}

Status serve(const ServerOptions& options, const std::vector<ModelFile>& models, const engine::EngineOptions& engine) {
  CONTINUO_TRY(const std::unique_ptr<Service> service, Service::open(options, models));
  return service->run(engine);
}

}  // namespace continuo::server

#include "weights/hub_listing.h"

#include <algorithm>
#include <charconv>

#include "weights/json_text.h"
#include "weights/model_card.h"
#include "weights/text_check.h"

namespace continuo::weights {

namespace {

using nlohmann::json;

constexpr std::size_t files_max = 20'000;
constexpr std::size_t values_max = files_max * 20;  // a file is listed with about ten
constexpr std::size_t name_bytes_max = 400;
constexpr std::size_t license_bytes_max = 100;
constexpr std::size_t sha256_digits = 64;
constexpr std::size_t sha1_digits = 40;
constexpr std::uint64_t size_max = std::uint64_t{1} << 60;

bool hexadecimal(std::string_view text, std::size_t digits) {
  const auto digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == digits && std::all_of(text.begin(), text.end(), digit);
}

/// The member's text, empty if it is absent or something else.
std::string text_of(const json& object, const char* name) {
  if (!object.is_object()) return {};
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::optional<std::uint64_t> count_of(const json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_unsigned()) return std::nullopt;
  const auto count = found->get<std::uint64_t>();
  return count <= size_max ? std::optional(count) : std::nullopt;
}

const json& part_of(const json& object, const char* name) {
  static const json nothing = json::object();
  const auto found = object.find(name);
  return found != object.end() && found->is_object() ? *found : nothing;
}

std::string license_of(const json& listing) {
  const json& card = part_of(listing, "cardData");
  std::string license = text_of(card, "license");
  const std::string named = text_of(card, "license_name");
  if (license == "other" && !named.empty()) license = named;
  const auto tags = listing.find("tags");
  if (license.empty() && tags != listing.end() && tags->is_array()) {
    constexpr std::string_view prefix = "license:";
    for (const json& tag : *tags) {
      const auto* text = tag.get_ptr<const std::string*>();
      if (license.empty() && text != nullptr && text->starts_with(prefix)) license = text->substr(prefix.size());
    }
  }
  const bool good = license.size() <= license_bytes_max && valid_utf8(license) && single_line(license);
  return good ? spdx_name(license) : std::string();
}

std::optional<RemoteFile> file_of(const json& entry) {
  RemoteFile file;
  if (!entry.is_object()) return std::nullopt;
  file.name = text_of(entry, "rfilename");
  if (file.name.empty() || file.name.size() > name_bytes_max) return std::nullopt;
  const json& large = part_of(entry, "lfs");
  if (const std::string hash = text_of(large, "sha256"); hexadecimal(hash, sha256_digits)) file.sha256 = hash;
  // A large file's blob is the pointer to it that git keeps; its hash says nothing about the content.
  const std::string blob = text_of(entry, "blobId");
  if (large.empty() && hexadecimal(blob, sha1_digits)) file.git_blob = blob;
  file.size = count_of(large, "size").value_or(count_of(entry, "size").value_or(0));
  return file;
}

/// W/"abc" -> abc
std::string_view bare_etag(std::string_view etag) {
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') etag = etag.substr(1, etag.size() - 2);
  return etag;
}

}  // namespace

Result<HubRepository> parse_listing(const std::string& text, const HubName& name) {
  CONTINUO_TRY(const json listing, parse_json_object(text, fmt::format("the hub's answer for {}", name.id()), values_max));
  HubRepository repository;
  repository.name = name;
  repository.commit = text_of(listing, "sha");
  if (!hexadecimal(repository.commit, sha1_digits)) {
    return fail(ErrorCode::corrupt_file, "the hub's answer for {} does not name a commit", name.id());
  }
  repository.license = license_of(listing);
  repository.parameters = count_of(part_of(listing, "safetensors"), "total");
  const auto files = listing.find("siblings");
  if (files == listing.end() || !files->is_array() || files->size() > files_max) {
    return fail(ErrorCode::corrupt_file, "the hub's answer for {} does not list its files", name.id());
  }
  for (const json& entry : *files) {
    if (auto file = file_of(entry)) repository.files.push_back(std::move(*file));
  }
  return repository;
}

Status read_metadata(const HttpReply& reply, RemoteFile& file) {
  const std::string linked = reply.header("x-linked-etag");
  const std::string etag(bare_etag(linked.empty() ? reply.header("etag") : linked));
  if (hexadecimal(etag, sha256_digits)) file.sha256 = etag;
  if (hexadecimal(etag, sha1_digits)) file.git_blob = etag;
  if (file.sha256.empty() && file.git_blob.empty()) {
    return fail(ErrorCode::unsupported, "{}: the hub does not say its hash, so a download could not be checked", file.name);
  }
  const std::string linked_size = reply.header("x-linked-size");
  const std::string size = linked_size.empty() ? reply.header("content-length") : linked_size;
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), file.size);
  if (error != std::errc() || end != size.data() + size.size() || file.size > size_max) {
    return fail(ErrorCode::unsupported, "{}: the hub does not say its size, so a download could not be checked", file.name);
  }
  return {};
}

}  // namespace continuo::weights

// Builders of pickles, zip archives and torch files, for tests: they write whatever they are told, right or wrong.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weights/fixtures_test.h"

namespace continuo::weights::testing {

/// Opcodes that push one value.
namespace pickled {
std::string text(std::string_view value);
std::string number(std::int64_t value);
std::string global(std::string_view module, std::string_view name);
std::string tuple(const std::vector<std::string>& items);
std::string numbers(const std::vector<std::int64_t>& values);  // a tuple
std::string dict(const std::vector<std::pair<std::string, std::string>>& items);
std::string storage(std::string_view type, std::string_view key, std::int64_t elements);  // type: "FloatStorage"
std::string tensor(const std::string& storage, std::int64_t offset, const std::vector<std::int64_t>& shape,
                   const std::vector<std::int64_t>& stride);
/// A whole pickle of protocol 2 around such opcodes.
std::string program(std::string_view body);
}  // namespace pickled

struct ZipMember {
  std::string name;
  std::string data;
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
  std::optional<std::uint32_t> size = {};          // claimed, instead of the true one
  std::optional<std::string> local_name = {};      // in front of the data
  std::optional<std::uint32_t> header_place = {};  // claimed by the directory
};
/// `count` is what the end of the archive claims, instead of the true number of entries.
std::string zip_of(const std::vector<ZipMember>& members, std::optional<std::uint16_t> count = {});

/// What torch.save writes: the pickle as t/data.pkl, each storage as t/data/<key>.
std::vector<ZipMember> torch_members(const std::string& pickle, const std::map<std::string, std::string>& storages);

/// A dictionary of tensors as opcodes, its storages added to `storages`.
std::string pickled_tensors(const Tensors& tensors, std::map<std::string, std::string>& storages);
/// A torch file of such a dictionary alone (pytorch_model.bin).
std::string torch_of(const Tensors& tensors);

}  // namespace continuo::weights::testing

#include "weights/torch_fixtures_test.h"

#include "base/half.h"

namespace continuo::weights::testing {

namespace {

std::uint32_t checksum(std::string_view data) {
  std::uint32_t sum = 0xFFFFFFFFU;
  for (const char c : data) {
    sum ^= static_cast<std::uint8_t>(c);
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1U) != 0 ? 0xEDB88320U : 0U);
  }
  return ~sum;
}

std::string raw_values(const Floats& tensor) {
  std::string data;
  for (const float value : tensor.values) {
    if (tensor.dtype == "F32")
      data += raw(value);
    else if (tensor.dtype == "F16")
      data += raw(float_to_half(value));
    else if (tensor.dtype == "BF16")
      data += raw(float_to_bfloat(value));
    else
      data += raw(static_cast<std::int64_t>(value));
  }
  return data;
}

}  // namespace

namespace pickled {

std::string text(std::string_view value) { return "X" + raw(static_cast<std::uint32_t>(value.size())) + std::string(value); }

std::string number(std::int64_t value) { return "\x8A\x08" + raw(value); }

std::string global(std::string_view module, std::string_view name) {
  return "c" + std::string(module) + "\n" + std::string(name) + "\n";
}

std::string tuple(const std::vector<std::string>& items) {
  std::string all = "(";
  for (const std::string& item : items) all += item;
  return all + "t";
}

std::string numbers(const std::vector<std::int64_t>& values) {
  std::vector<std::string> items;
  for (const std::int64_t value : values) items.push_back(number(value));
  return tuple(items);
}

std::string dict(const std::vector<std::pair<std::string, std::string>>& items) {
  std::string all = "}(";
  for (const auto& [key, value] : items) all += text(key) + value;
  return all + "u";
}

std::string storage(std::string_view type, std::string_view key, std::int64_t elements) {
  return tuple({text("storage"), global("torch", type), text(key), text("cpu"), number(elements)}) + "Q";
}

std::string tensor(const std::string& storage, std::int64_t offset, const std::vector<std::int64_t>& shape,
                   const std::vector<std::int64_t>& stride) {
  const std::string hooks = global("collections", "OrderedDict") + ")R";
  return global("torch._utils", "_rebuild_tensor_v2") +
         tuple({storage, number(offset), numbers(shape), numbers(stride), "\x89", hooks}) + "R";
}

std::string program(std::string_view body) { return "\x80\x02" + std::string(body) + "."; }

}  // namespace pickled

std::string zip_of(const std::vector<ZipMember>& members, std::optional<std::uint16_t> count) {
  std::string all, directory;
  for (const ZipMember& member : members) {
    const auto place = static_cast<std::uint32_t>(all.size());
    const auto length = static_cast<std::uint32_t>(member.data.size());
    const std::string common = raw<std::uint16_t>(20) + raw(member.flags) + raw(member.method) + raw<std::uint32_t>(0x21 << 16) +
                               raw(checksum(member.data)) + raw(length) + raw(member.size.value_or(length));
    const std::string local = member.local_name.value_or(member.name);
    all += "PK\3\4" + common + raw(static_cast<std::uint16_t>(local.size())) + raw<std::uint16_t>(0) + local + member.data;
    directory += "PK\1\2" + raw<std::uint16_t>(20) + common + raw(static_cast<std::uint16_t>(member.name.size())) +
                 std::string(12, '\0') + raw(member.header_place.value_or(place)) + member.name;
  }
  const auto entries = count.value_or(static_cast<std::uint16_t>(members.size()));
  const auto start = static_cast<std::uint32_t>(all.size());
  return all + directory + "PK\5\6" + raw<std::uint32_t>(0) + raw(entries) + raw(entries) +
         raw(static_cast<std::uint32_t>(directory.size())) + raw(start) + raw<std::uint16_t>(0);
}

std::vector<ZipMember> torch_members(const std::string& pickle, const std::map<std::string, std::string>& storages) {
  std::vector<ZipMember> members = {{"t/data.pkl", pickle}, {"t/byteorder", "little"}};
  for (const auto& [key, data] : storages) members.push_back({"t/data/" + key, data});
  members.push_back({"t/version", "3\n"});
  return members;
}

std::string pickled_tensors(const Tensors& tensors, std::map<std::string, std::string>& storages) {
  std::vector<std::pair<std::string, std::string>> items;
  for (const auto& [name, tensor] : tensors) {
    const std::string key = std::to_string(storages.size());
    storages[key] = raw_values(tensor);
    const char* type = tensor.dtype == "F32"    ? "FloatStorage"
                       : tensor.dtype == "F16"  ? "HalfStorage"
                       : tensor.dtype == "BF16" ? "BFloat16Storage"
                                                : "LongStorage";
    std::vector<std::int64_t> stride(tensor.shape.size(), 1);
    for (std::size_t i = tensor.shape.size(); i-- > 1;) stride[i - 1] = stride[i] * tensor.shape[i];
    const auto elements = static_cast<std::int64_t>(tensor.values.size());
    items.emplace_back(name, pickled::tensor(pickled::storage(type, key, elements), 0, tensor.shape, stride));
  }
  return pickled::dict(items);
}

std::string torch_of(const Tensors& tensors) {
  std::map<std::string, std::string> storages;
  const std::string pickle = pickled::program(pickled_tensors(tensors, storages));
  return zip_of(torch_members(pickle, storages));
}

}  // namespace continuo::weights::testing

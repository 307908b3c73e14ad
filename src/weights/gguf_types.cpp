#include "weights/gguf_types.h"

#include <array>

namespace continuo::weights {

namespace {

constexpr std::array<std::string_view, 13> value_names = {"u8",   "i8",     "u16",   "i16", "u32", "i32", "f32",
                                                          "bool", "string", "array", "u64", "i64", "f64"};
constexpr std::array<std::size_t, 13> value_sizes = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};

struct NumberedType {
  std::uint32_t number;
  GgmlType type;
};

// ggml 0.20.2, ggml_type_size() and ggml_blck_size() of every number in use.
constexpr NumberedType tensor_types[] = {
    {0, {"f32", {1, 4}}},         {1, {"f16", {1, 2}}},         {2, {"q4_0", {32, 18}}},      {3, {"q4_1", {32, 20}}},
    {6, {"q5_0", {32, 22}}},      {7, {"q5_1", {32, 24}}},      {8, {"q8_0", {32, 34}}},      {9, {"q8_1", {32, 36}}},
    {10, {"q2_k", {256, 84}}},    {11, {"q3_k", {256, 110}}},   {12, {"q4_k", {256, 144}}},   {13, {"q5_k", {256, 176}}},
    {14, {"q6_k", {256, 210}}},   {15, {"q8_k", {256, 292}}},   {16, {"iq2_xxs", {256, 66}}}, {17, {"iq2_xs", {256, 74}}},
    {18, {"iq3_xxs", {256, 98}}}, {19, {"iq1_s", {256, 50}}},   {20, {"iq4_nl", {32, 18}}},   {21, {"iq3_s", {256, 110}}},
    {22, {"iq2_s", {256, 82}}},   {23, {"iq4_xs", {256, 136}}}, {24, {"i8", {1, 1}}},         {25, {"i16", {1, 2}}},
    {26, {"i32", {1, 4}}},        {27, {"i64", {1, 8}}},        {28, {"f64", {1, 8}}},        {29, {"iq1_m", {256, 56}}},
    {30, {"bf16", {1, 2}}},       {34, {"tq1_0", {256, 54}}},   {35, {"tq2_0", {256, 66}}},   {39, {"mxfp4", {32, 17}}},
    {40, {"nvfp4", {64, 36}}},    {41, {"q1_0", {128, 18}}},    {42, {"q2_0", {64, 18}}},
};

}  // namespace

std::optional<GgufType> gguf_type_from_number(std::uint32_t number) {
  if (number >= value_names.size()) return std::nullopt;
  return static_cast<GgufType>(number);
}

std::string_view name_of(GgufType type) { return value_names[static_cast<std::size_t>(type)]; }

std::size_t size_of(GgufType type) { return value_sizes[static_cast<std::size_t>(type)]; }

std::optional<GgmlType> ggml_type_from_number(std::uint32_t number) {
  for (const NumberedType& entry : tensor_types) {
    if (entry.number == number) return entry.type;
  }
  return std::nullopt;
}

}  // namespace continuo::weights

#include "weights/yaml_text.h"

#include <gtest/gtest.h>

namespace continuo::weights {
namespace {

constexpr const char* sample = R"(
device: cuda
sample_rate: 32000
channels: 1
encodec: {causal: false, channels: '${channels}'}
seanet:
  channels: ${channels}
  causal: ${encodec.causal}
  indirect: ${seanet.channels}
  ratios: [8, 5, 4, 4]
  lr: 1.0e-05
  nothing: null
copy: ${seanet}
dora:
  dir: /checkpoint/${oc.env:USER}/experiments
  user: ${oc.env:USER}
  relative: ${.dir}
circle: ${ring}
ring: ${circle}
self: ${self.inner}
lost: ${no.where}
fuser:
  cross: [description]
  sum: []
)";

YamlFields fields_of(const std::string& text) {
  auto fields = YamlFields::parse(text, "xp.cfg");
  EXPECT_TRUE(fields) << fields.error().message;
  return std::move(*fields);
}

TEST(YamlText, ReadsValuesThroughInterpolations) {
  YamlFields fields = fields_of(sample);
  int rate = 0, channels = 0, indirect = 0, copied = 0, kept = 7;
  bool causal = true;
  double rate_of_learning = 0.0;
  std::vector<int> ratios;
  std::vector<std::string> cross, sum = {"gone"};
  fields.get("sample_rate", rate);
  fields.get("encodec.channels", channels);
  fields.get("seanet.indirect", indirect);
  fields.get("copy.indirect", copied);
  fields.get("seanet.nothing", kept);
  fields.get("seanet.absent", kept);
  fields.get("absent.too", kept);
  fields.get("seanet.causal", causal);
  fields.get("seanet.lr", rate_of_learning);
  fields.need("copy.ratios", ratios);
  fields.get("fuser.cross", cross);
  fields.get("fuser.sum", sum);
  ASSERT_TRUE(fields.status()) << fields.status().error().message;
  EXPECT_EQ(rate, 32000);
  EXPECT_EQ(channels, 1);
  EXPECT_EQ(indirect, 1);
  EXPECT_EQ(copied, 1);
  EXPECT_EQ(kept, 7);
  EXPECT_FALSE(causal);
  EXPECT_DOUBLE_EQ(rate_of_learning, 1e-5);
  EXPECT_EQ(ratios, (std::vector<int>{8, 5, 4, 4}));
  EXPECT_EQ(cross, std::vector<std::string>{"description"});
  EXPECT_TRUE(sum.empty());
  EXPECT_EQ(fields.keys("fuser"), (std::vector<std::string>{"cross", "sum"}));
  EXPECT_TRUE(fields.has("copy.causal"));
  EXPECT_FALSE(fields.has("seanet.nothing"));
}

/// The complaint about reading a text at this path.
std::string complaint(const std::string& path) {
  YamlFields fields = fields_of(sample);
  std::string value;
  fields.get(path, value);
  return fields.status() ? "none" : fields.status().error().message;
}

TEST(YamlText, RefusesWhatItCannotFollow) {
  EXPECT_NE(complaint("circle").find("'circle': its interpolations go round in circles"), std::string::npos);
  EXPECT_NE(complaint("self").find("in circles"), std::string::npos);
  EXPECT_NE(complaint("ring.deeper").find("in circles"), std::string::npos);
  EXPECT_NE(complaint("lost").find("'${no.where}' leads nowhere"), std::string::npos);
  EXPECT_NE(complaint("dora.user").find("'${oc.env:USER}' is not supported"), std::string::npos);
  EXPECT_NE(complaint("dora.dir").find("is not supported"), std::string::npos);
  EXPECT_NE(complaint("dora.relative").find("is not supported"), std::string::npos);
  EXPECT_NE(complaint("seanet").find("'seanet' is not a text"), std::string::npos);
  EXPECT_EQ(complaint("device"), "none");
}

TEST(YamlText, RefusesOtherKindsOfValues) {
  YamlFields numbers = fields_of(sample);
  int number = 3;
  numbers.get("device", number);
  EXPECT_EQ(number, 3);
  EXPECT_EQ(numbers.status().error().message, "xp.cfg: 'device' is not a whole number of usual size");
  YamlFields lists = fields_of("a: [1, x]\nb: [1, [2]]\n");
  std::vector<int> list;
  lists.get("a", list);
  EXPECT_FALSE(lists.status());
  YamlFields needed = fields_of("a: 1\n");
  needed.need("b", number);
  EXPECT_EQ(needed.status().error().message, "xp.cfg: 'b' is not there");
  YamlFields infinite = fields_of("a: .inf\n");
  double real = 1.0;
  infinite.get("a", real);
  EXPECT_FALSE(infinite.status());
}

TEST(YamlText, RefusesWhatIsNoMapOrTooMuch) {
  const auto repeated = [](const std::string& part, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) all += part;
    return all;
  };
  std::string ladder;
  for (int i = 0; i < 600; ++i) ladder += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  std::string laughs = "a: &a [x, x]\n";
  for (char c = 'b'; c <= 'z'; ++c) laughs += std::string(1, c) + ": &" + c + " [*" + char(c - 1) + ", *" + char(c - 1) + "]\n";
  const std::string bad[] = {"",
                             "text",
                             "[1, 2]",
                             "a: [",
                             "a: 'x",
                             "a: *b",
                             "\xFF\xFE\xFA",
                             std::string("a\0b: 1", 6),
                             repeated("[", 100000),
                             "a: " + repeated("{b: ", 50000),
                             repeated("- ", 100000),
                             repeated("? ", 100000),
                             repeated("- &x ", 50000),
                             repeated("- !t ", 50000),
                             ladder,
                             std::string(1 << 20, 'a')};
  for (const std::string& text : bad) {
    const auto fields = YamlFields::parse(text, "xp.cfg");
    EXPECT_TRUE(!fields && fields.error().message.starts_with("xp.cfg")) << text.substr(0, 20);
  }
  EXPECT_TRUE(YamlFields::parse(laughs, "xp.cfg"));  // shared, not copied
}

}  // namespace
}  // namespace continuo::weights

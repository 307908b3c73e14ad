#include "server/requests/multipart.h"

#include <gtest/gtest.h>

namespace continuo::server {
namespace {

using std::string_literals::operator""s;

std::string message_of(const std::string& body) {
  const auto parts = parse_multipart(body, "B");
  return parts ? "accepted" : parts.error().message;
}

const std::string head =
    "--B\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.wav\"\r\nContent-Type: audio/wav\r\n\r\n";

TEST(MultipartTest, FindsTheFile) {
  const std::string body = head + "RIFF\0\r\n--x\r\n"s + "\r\n--B--\r\n";  // the parts refer to it
  const auto part = file_part(body, "B");
  ASSERT_TRUE(part.has_value()) << part.error().message;
  EXPECT_EQ(part->name, "file");
  EXPECT_EQ(part->file_name, "a.wav");
  EXPECT_EQ(part->media_type, "audio/wav");
  EXPECT_EQ(part->bytes, "RIFF\0\r\n--x\r\n"s);
}

TEST(MultipartTest, PreambleEpilogueAndBlanksMeanNothing) {
  const auto parts = parse_multipart(
      "hello\r\n--B \t\r\ncontent-disposition:form-data;name=a\r\n\r\n1\r\n--B\r\n"
      "Content-Disposition: form-data; name=\"b\\\"c\"\r\n\r\n\r\n--B--anything",
      "B");
  ASSERT_TRUE(parts.has_value()) << parts.error().message;
  ASSERT_EQ(parts->size(), 2U);
  EXPECT_EQ((*parts)[0].name, "a");
  EXPECT_EQ((*parts)[0].bytes, "1");
  EXPECT_FALSE((*parts)[0].file_name.has_value());
  EXPECT_EQ((*parts)[1].name, "b\"c");
  EXPECT_EQ((*parts)[1].bytes, "");
}

TEST(MultipartTest, RefusesWhatIsNoForm) {
  EXPECT_EQ(message_of(""), "the form cannot be read: its boundary is not in the body");
  EXPECT_EQ(message_of("--C\r\n"), "the form cannot be read: its boundary is not in the body");
  EXPECT_EQ(message_of("--Bx"), "the form cannot be read: a boundary is followed by something else than a line's end");
  EXPECT_EQ(message_of("--B\r\nContent-Disposition: form-data; name=a\r\n"),
            "the form cannot be read: the headers of a part do not end, or are too long");
  EXPECT_EQ(message_of("--B\r\nX: " + std::string(5000, 'x') + "\r\n\r\n1\r\n--B--"),
            "the form cannot be read: the headers of a part do not end, or are too long");
  EXPECT_EQ(message_of("--B\r\nContent-Type: audio/wav\r\n\r\n1\r\n--B--"), "the form cannot be read: a part has no name");
  EXPECT_EQ(message_of("--B\r\nno colon\r\n\r\n1\r\n--B--"), "the form cannot be read: a part has a header without a colon");
  EXPECT_EQ(message_of("--B\r\nContent-Disposition: attachment; name=a\r\n\r\n1\r\n--B--"),
            "the form cannot be read: a part is not form-data, or says so twice");
  EXPECT_EQ(message_of("--B\r\nContent-Disposition: form-data; name=\"a\r\n\r\n1\r\n--B--"),
            "the form cannot be read: a header of a part is not in its usual form");
  EXPECT_EQ(message_of(head + "cut"), "the form cannot be read: its last part does not end; was it cut off?");
  EXPECT_EQ(message_of("--B\r\nContent-Disposition: form-data; name=\"\xff\"\r\n\r\n1\r\n--B--"),
            "the form cannot be read: a part's name is too long, or not UTF-8 text");
  EXPECT_EQ(message_of("--B\r\nContent-Disposition: form-data; name=a\r\nContent-Transfer-Encoding: base64\r\n\r\n1\r\n--B--"),
            "the form cannot be read: a part is encoded for mail (content-transfer-encoding)");
  std::string many;
  for (int i = 0; i < 17; ++i) many += "--B\r\nContent-Disposition: form-data; name=a\r\n\r\n1\r\n";
  EXPECT_EQ(message_of(many + "--B--"), "the form cannot be read: it has more than 16 parts");
}

TEST(MultipartTest, OneFileAndNothingElse) {
  const auto message = [](const std::string& body) { return file_part(body, "B").error().message; };
  EXPECT_EQ(message(head + "1\r\n" + head + "2\r\n--B--"), "the form has two files; send one at a time");
  EXPECT_EQ(message(head + "\r\n--B--"), "the file is empty");
  EXPECT_EQ(message("--B--"), "the form has no field file");
  EXPECT_EQ(message("--B\r\nContent-Disposition: form-data; name=sound\r\n\r\n1\r\n--B--"),
            "there is no field 'sound' in this form; the sound belongs into file");
}

TEST(MultipartTest, TheBoundaryStandsInTheContentType) {
  EXPECT_EQ(multipart_boundary("audio/wav").value(), std::nullopt);
  EXPECT_EQ(multipart_boundary("").value(), std::nullopt);
  EXPECT_EQ(multipart_boundary("multipart/form-data; boundary=abc").value(), "abc");
  EXPECT_EQ(multipart_boundary("Multipart/Form-Data; charset=utf-8; Boundary=\"a b'c\"").value(), "a b'c");
  for (const std::string bad :
       {"multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=\"a",
        "multipart/form-data; boundary=a*b", "multipart/form-data; boundary=\"a \"", "multipart/form-data; x"}) {
    EXPECT_FALSE(multipart_boundary(bad).has_value()) << bad;
  }
  EXPECT_FALSE(multipart_boundary("multipart/form-data; boundary=" + std::string(71, 'a')).has_value());
}

}  // namespace
}  // namespace continuo::server

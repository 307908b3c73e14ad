#include "server/hosts.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace continuo::server {
namespace {

Hosts hosts(const std::string& bound, const std::vector<std::string>& names = {}, const std::vector<std::string>& origins = {}) {
  auto made = Hosts::create(bound, names, origins);
  EXPECT_TRUE(made.has_value()) << made.error().message;
  return made ? *made : Hosts();
}

HttpRequest request(const std::string& method, std::map<std::string, std::string, std::less<>> headers) {
  HttpRequest made;
  made.method = method;
  made.headers = std::move(headers);
  return made;
}

std::string header(const Headers& headers, const std::string& name) {
  const auto found = std::find_if(headers.begin(), headers.end(), [&](const auto& pair) { return pair.first == name; });
  return found == headers.end() ? "" : found->second;
}

TEST(ParseHost, NamesAddressesAndPorts) {
  EXPECT_EQ(parse_host("LocalHost.:8080")->text, "localhost");
  EXPECT_EQ(parse_host("LocalHost.:8080")->port, 8080);
  EXPECT_EQ(parse_host("[0::0:1]:1")->text, "::1");
  EXPECT_EQ(parse_host("[::ffff:127.0.0.1]")->text, "127.0.0.1");
  EXPECT_TRUE(parse_host("10.0.0.1")->address);
  EXPECT_FALSE(parse_host("music.example")->address);
  EXPECT_EQ(parse_host("a:")->text, "a");
  for (const char* wrong : {"",     ":80",     ".",     "a..b", ".a",       "-a",          "a b",       "a:b",
                            "a:-1", "a:65536", "a:1:2", "::1",  "[::1",     "[::1]x",      "[1.2.3.4]", "[fe80::1%eth0]",
                            "a/b",  "user@a",  "a\r\n", "a?b",  "http://a", "caf\xC3\xA9", "a:+1"}) {
    EXPECT_FALSE(parse_host(wrong).has_value()) << wrong;
  }
  EXPECT_FALSE(parse_host(std::string("a\0b", 3)).has_value());
  EXPECT_FALSE(parse_host(std::string(254, 'a')).has_value());
}

TEST(Loopback, OnlyWhatStaysOnThisMachine) {
  for (const char* here : {"localhost", "LOCALHOST", "a.localhost", "127.0.0.1", "127.9.8.7", "::1", "[::1]", "::ffff:127.0.0.1"})
    EXPECT_TRUE(is_loopback(here)) << here;
  for (const char* elsewhere : {"", "0.0.0.0", "::", "10.0.0.1", "localhost.example", "127.0.0.1.example", "notlocalhost",
                                "128.0.0.1", "127.1", "::127.0.0.1", "music"})
    EXPECT_FALSE(is_loopback(elsewhere)) << elsewhere;
}

TEST(HostsTest, ALoopbackServerKnowsLoopbackAndListedNamesOnly) {
  const Hosts local = hosts("127.0.0.1", {"Music.Example.", "10.1.2.3", "2001:DB8::5"});
  for (const char* good : {"127.0.0.1:8080", "127.0.0.2", "localhost:1", "[::1]:8080", "music.example", "MUSIC.example:443",
                           "10.1.2.3:80", "[2001:db8:0::5]"})
    EXPECT_TRUE(local.knows(good)) << good;
  for (const char* bad : {"evil.example", "evil.example:8080", "sub.music.example", "music.example.evil", "10.1.2.4",
                          "0.0.0.0:8080", "", "localhost.evil.example", "music.example@evil", "[2001:db8::6]"})
    EXPECT_FALSE(local.knows(bad)) << bad;
}

TEST(HostsTest, AServerOnOneAddressKnowsItAndOneOnAllKnowsAddresses) {
  EXPECT_TRUE(hosts("192.168.1.5").knows("192.168.1.5:8080"));
  EXPECT_FALSE(hosts("192.168.1.5").knows("192.168.1.6:8080"));
  EXPECT_TRUE(hosts("studio.lan").knows("studio.lan:8080"));
  EXPECT_TRUE(hosts("::1").knows("[::1]"));
  for (const char* wildcard : {"0.0.0.0", "::"}) {
    EXPECT_TRUE(hosts(wildcard).knows("10.9.8.7:80")) << wildcard;
    EXPECT_TRUE(hosts(wildcard).knows("[2001:db8::1]:80")) << wildcard;
    EXPECT_FALSE(hosts(wildcard).knows("evil.example")) << wildcard;
  }
}

TEST(HostsTest, OriginsAreThisServersOwnListedOrForeign) {
  const Hosts made =
      hosts("127.0.0.1", {"music.example"}, {"https://Studio.example/", "http://other.example:3000", "tauri://localhost"});
  using Origin = Hosts::Origin;
  EXPECT_EQ(made.origin_of("", "localhost:8080"), Origin::none);
  EXPECT_EQ(made.origin_of("http://localhost:8080", "localhost:8080"), Origin::same);
  EXPECT_EQ(made.origin_of("http://127.0.0.1:8080", "127.0.0.1:8080"), Origin::same);
  EXPECT_EQ(made.origin_of("http://[::1]:8080", "[::1]:8080"), Origin::same);
  EXPECT_EQ(made.origin_of("https://music.example", "music.example"), Origin::same);  // TLS ends at a proxy
  EXPECT_EQ(made.origin_of("https://music.example", "music.example:443"), Origin::same);
  EXPECT_EQ(made.origin_of("http://music.example", "music.example:80"), Origin::same);
  EXPECT_EQ(made.origin_of("http://localhost:3000", "localhost:8080"), Origin::foreign);
  EXPECT_EQ(made.origin_of("http://localhost:8080", "127.0.0.1:8080"), Origin::foreign);
  EXPECT_EQ(made.origin_of("https://studio.example", "localhost:8080"), Origin::listed);
  EXPECT_EQ(made.origin_of("https://STUDIO.example:443", "localhost:8080"), Origin::listed);
  EXPECT_EQ(made.origin_of("http://other.example:3000", "localhost:8080"), Origin::listed);
  EXPECT_EQ(made.origin_of("tauri://localhost", "localhost:8080"), Origin::listed);
  for (const char* foreign : {"null", "*", "https://studio.example.evil", "https://evil-studio.example", "http://studio.example",
                              "https://studio.example:444", "http://other.example", "https://studio.example/path",
                              "https://evil@studio.example", "localhost:8080", "http://", "http://localhost:8080 http://x"})
    EXPECT_EQ(made.origin_of(foreign, "localhost:8080"), Origin::foreign) << foreign;
}

TEST(HostsTest, RefusesOptionsThatMeanTooMuchOrNothing) {
  for (const char* origin : {"*", "null", "music.example", "https://a.example/path", "https://", "", "https://*.example"})
    EXPECT_FALSE(Hosts::create("127.0.0.1", {}, {origin}).has_value()) << origin;
  for (const char* name : {"*", "a.example:80", "https://a.example", "", "*.example"})
    EXPECT_FALSE(Hosts::create("127.0.0.1", {name}, {}).has_value()) << name;
  for (const char* bound : {"", "a b", "127.0.0.1:80"}) EXPECT_FALSE(Hosts::create(bound, {}, {}).has_value()) << bound;
}

TEST(HostsTest, CorsIsOffUnlessOriginsAreListed) {
  const auto asks = request("OPTIONS", {{"host", "localhost:8080"},
                                        {"origin", "https://studio.example"},
                                        {"access-control-request-method", "POST"},
                                        {"access-control-request-headers", "authorization, x-stainless-os"},
                                        {"access-control-request-private-network", "true"}});
  const Hosts off = hosts("127.0.0.1");
  EXPECT_TRUE(off.cors_headers(asks).empty());
  EXPECT_FALSE(off.preflight(asks).has_value());
  const Hosts on = hosts("127.0.0.1", {}, {"https://studio.example"});
  EXPECT_EQ(header(on.cors_headers(asks), "Access-Control-Allow-Origin"), "https://studio.example");
  EXPECT_EQ(header(on.cors_headers(asks), "Access-Control-Allow-Credentials"), "");
  const auto answer = on.preflight(asks);
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, 204);
  EXPECT_EQ(header(answer->headers, "Access-Control-Allow-Headers"), "authorization, x-stainless-os");
  EXPECT_NE(header(answer->headers, "Access-Control-Allow-Methods").find("DELETE"), std::string::npos);
  EXPECT_EQ(header(answer->headers, "Access-Control-Allow-Private-Network"), "true");
  auto foreign = asks;
  foreign.headers["origin"] = "https://evil.example";
  EXPECT_EQ(on.cors_headers(foreign), (Headers{{"Vary", "Origin"}}));  // a cache must not mix them up
  EXPECT_FALSE(on.preflight(foreign).has_value());
  auto injected = asks;
  injected.headers["access-control-request-headers"] = "a\r\nSet-Cookie: b";
  EXPECT_EQ(header(on.preflight(injected)->headers, "Access-Control-Allow-Headers"), "");
  auto plain = asks;
  plain.headers.erase("access-control-request-method");
  EXPECT_FALSE(on.preflight(plain).has_value());
}

}  // namespace
}  // namespace continuo::server

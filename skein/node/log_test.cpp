#include "skein/node/log.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "skein/base/fd.hpp"

namespace skein::node {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::uint64_t k_log_moment = 1'794'975'600'123;  // 2026-11-18T04:20:00.123Z

TEST(LogLine, is_text_or_one_object_of_json) {
  EXPECT_EQ(log_line(LogLevel::info, "up", k_log_moment, LogFormat::text, false),
            "2026-11-18T04:20:00.123Z info    up\n");
  EXPECT_EQ(log_line(LogLevel::warning, "a \"b\"\nc", k_log_moment, LogFormat::json, true),
            "{\"time\":\"2026-11-18T04:20:00.123Z\",\"level\":\"warning\",\"message\":\"a \\\"b\\\"\\nc\"}\n");
  EXPECT_EQ(log_format_named("json"), LogFormat::json);
  EXPECT_FALSE(log_format_named("xml"));
}

TEST(LogLine, has_a_coloured_level_where_colours_are_wanted) {
  EXPECT_EQ(log_line(LogLevel::error, "no", k_log_moment, LogFormat::text, true),
            "2026-11-18T04:20:00.123Z \033[31merror  \033[0m no\n");
  EXPECT_EQ(log_line(LogLevel::info, "up", k_log_moment, LogFormat::text, true),
            "2026-11-18T04:20:00.123Z info    up\n");
}

TEST(LogPlace, names_the_file_that_standard_error_leads_to) {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("skein-log-place-{}", ::getpid());
  const Fd file(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  EXPECT_EQ(place_of_log(file.get(), nullptr), path.string());
  std::filesystem::remove(path);
}

TEST(LogPlace, knows_the_systemd_journal_by_its_stream) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const Fd reader(ends[0]);
  const Fd writer(ends[1]);
  struct stat status{};
  ASSERT_EQ(::fstat(writer.get(), &status), 0);
  const std::string stream = fmt::format("{}:{}", status.st_dev, status.st_ino);
  EXPECT_THAT(place_of_log(writer.get(), stream.c_str()), HasSubstr("journalctl"));
  EXPECT_THAT(place_of_log(writer.get(), "1:2"), HasSubstr("read by whatever started it"));
}

TEST(LogPlace, says_when_nobody_can_read_it) {
  const Fd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  EXPECT_THAT(place_of_log(null.get(), nullptr), StartsWith("nowhere"));
  EXPECT_THAT(place_of_log(-1, nullptr), StartsWith("nowhere"));
}

}  // namespace
}  // namespace skein::node

#include "server/storage/webhdfs/file_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/unit/server/storage/webhdfs/hdfs_server.h"

namespace forebay::storage::webhdfs {
namespace {

using ::testing::HasSubstr;

// As the documentation of Hadoop 3.4 shows them.
constexpr char kStatus[] = R"({"FileStatus": {
    "accessTime": 0, "blockSize": 0, "group": "supergroup", "length": 24930,
    "modificationTime": 1320173277227, "owner": "webuser", "pathSuffix": "",
    "permission": "777", "replication": 0, "fileId": 16386, "type": "FILE"}})";
constexpr char kBatch[] = R"({"DirectoryListing": {
    "partialListing": {"FileStatuses": {"FileStatus": [
      {"accessTime": 0, "fileId": 16387, "length": 0, "type": "DIRECTORY",
       "modificationTime": 1473305882563, "pathSuffix": "bardir"},
      {"length": 1024, "modificationTime": 1473305882, "pathSuffix": "bazfile",
       "type": "FILE"},
      {"pathSuffix": "link", "symlink": "/x", "type": "SYMLINK"}]}},
    "remainingEntries": 2}})";

TEST(FileStatusTest, ReadsWhatTheDocumentationShows) {
  const auto file = ParseFileStatus(kStatus);
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->kind, FileStatus::Kind::kFile);
  EXPECT_EQ(file->version.size, 24930);
  const auto list = ParseFolder(kBatch);
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->entries.size(), 3);
  EXPECT_EQ(list->entries[0].name, "bardir");
  EXPECT_EQ(list->entries[0].kind, FileStatus::Kind::kFolder);
  EXPECT_EQ(list->entries[1].version.size, 1024);
  EXPECT_EQ(list->entries[2].kind, FileStatus::Kind::kOther);
  EXPECT_EQ(list->remaining, 2);
}

TEST(FileStatusTest, AVersionIsOfANumberAndATime) {
  const auto stamp = [](const std::string& number, const std::string& time) {
    return ParseFileStatus(R"({"FileStatus": {"type": "FILE", "length": 1,
                           "fileId": )" +
                           number + R"(, "modificationTime": )" + time + "}}")
        ->version.stamp;
  };
  EXPECT_EQ(stamp("1", "2"), stamp("1", "2"));
  EXPECT_NE(stamp("1", "2"), stamp("2", "2"));
  EXPECT_NE(stamp("1", "2"), stamp("1", "3"));
}

TEST(FileStatusTest, ChecksEveryField) {
  const auto item = [](const auto&... fields) {
    return absl::StrCat("{\"FileStatuses\": {\"FileStatus\": [{", fields...,
                        "}]}}");
  };
  const std::string name = R"("pathSuffix": "a", )";
  const std::string length = R"("type": "FILE", "length": 1, )";
  const std::string time = R"("modificationTime": 1)";
  EXPECT_TRUE(ParseFolder(item(name, length, time)).ok());
  for (const std::string& json :
       {std::string(), std::string("[]"), std::string("{}"),
        std::string(R"({"FileStatuses": 1})"),
        std::string(R"({"FileStatuses": {"FileStatus": {}}})"),
        std::string(R"({"FileStatuses": {"FileStatus": [1]}})"),
        std::string(R"({"FileStatuses": {"FileStatus": [[]]}})"),
        std::string(R"({"FileStatuses": {"FileStatus": [null]}})"),
        std::string(R"({"DirectoryListing": {"remainingEntries": 0}})"),
        std::string(R"({"DirectoryListing": 1})"),
        item(length, time, "}, {", length, time),
        item(R"("type": "DIRECTORY")"),
        item(R"("pathSuffix": "a/b", )", length, time),
        item(R"("pathSuffix": "..", )", length, time),
        item(name, R"("type": "FILE", "length": -1, )", time),
        item(name, R"("type": "FILE", "length": 9223372036854775808, )", time),
        item(name, R"("type": "FILE", "length": "1", )", time),
        item(name, R"("type": "FILE", "length": 1)")})
    EXPECT_EQ(ParseFolder(json).status().code(), absl::StatusCode::kDataLoss)
        << json;
  for (const char* json : {"", "{}", R"({"FileStatus": []})"})
    EXPECT_EQ(ParseFileStatus(json).status().code(),
              absl::StatusCode::kDataLoss);
}

TEST(FileStatusTest, LeavesOutWhatElseIsInAList) {
  const auto list = ParseFolder(R"({"x": [[{"FileStatus": [1]}]],
      "FileStatuses": {"y": {}, "FileStatus": [
        {"z": {"pathSuffix": "no", "type": []}, "pathSuffix": "a",
         "type": "DIRECTORY", "v": [1, {}]},
        {"pathSuffix": "b", "type": "FILE", "length": 1, "w": null,
         "modificationTime": 2}], "remainingEntries": 7}})");
  ASSERT_TRUE(list.ok()) << list.status();
  ASSERT_EQ(list->entries.size(), 2);
  EXPECT_EQ(list->entries[0].name, "a");
  EXPECT_EQ(list->entries[0].kind, FileStatus::Kind::kFolder);
  EXPECT_EQ(list->entries[1].name, "b");
  EXPECT_EQ(list->remaining, 0);
}

TEST(FileStatusTest, TheListOfAFileIsNone) {
  const absl::Status status =
      ParseFolder(R"({"FileStatuses": {"FileStatus": [{"pathSuffix": "",
                  "type": "FILE", "length": 1, "modificationTime": 1}]}})")
          .status();
  EXPECT_EQ(status, absl::InvalidArgumentError("is a file, and no folder"));
}

TEST(FileStatusTest, WithoutANumberTheChecksumTellsFilesApart) {
  const auto read = [](const std::string& number) {
    return *ParseFileStatus(R"({"FileStatus": {"type": "FILE", "length": 1,
                            "modificationTime": 2)" +
                            number + "}}");
  };
  EXPECT_TRUE(read(R"(, "fileId": 16386)").has_number);
  EXPECT_FALSE(read(R"(, "fileId": 0)").has_number);
  const FileStatus status = read("");
  EXPECT_FALSE(status.has_number);
  const ObjectVersion version = VersionByChecksum(status, "MD5 00");
  EXPECT_EQ(version.size, 1);
  EXPECT_EQ(version, VersionByChecksum(status, "MD5 00"));
  EXPECT_NE(version, VersionByChecksum(status, "MD5 01"));
  EXPECT_NE(version, status.version);
}

TEST(FileStatusTest, ReadsChecksums) {
  // As the documentation of Hadoop 3.4 shows it.
  EXPECT_EQ(*ParseChecksum(R"({"FileChecksum": {
                "algorithm": "MD5-of-1MD5-of-512CRC32",
                "bytes": "eadb10de24aa315748930df6e185c0d", "length": 28}})"),
            "MD5-of-1MD5-of-512CRC32 eadb10de24aa315748930df6e185c0d");
  EXPECT_EQ(*ParseChecksum(R"({"FileChecksum": null})"), "");
  for (const char* json :
       {"", "{}", R"({"FileChecksum": 1})", R"({"FileChecksum": {}})",
        R"({"FileChecksum": {"algorithm": "MD5", "bytes": 1}})"})
    EXPECT_EQ(ParseChecksum(json).status().code(), absl::StatusCode::kDataLoss)
        << json;
}

TEST(FaultOfTest, GoesByTheExceptionsName) {
  const struct {
    int status;
    std::string exception;
    absl::StatusCode code;
  } cases[] = {
      {404, "FileNotFoundException", absl::StatusCode::kNotFound},
      {403, "FileNotFoundException", absl::StatusCode::kNotFound},
      {403, "AccessControlException", absl::StatusCode::kPermissionDenied},
      {403, "StandbyException", absl::StatusCode::kUnavailable},
      {403, "IOException", absl::StatusCode::kUnavailable},
      {400, "IllegalArgumentException", absl::StatusCode::kInvalidArgument},
      {500, "UnsupportedOperationException",
       absl::StatusCode::kInvalidArgument},
      {401, "SecurityException", absl::StatusCode::kPermissionDenied},
      {500, "RuntimeException", absl::StatusCode::kUnavailable},
  };
  for (const auto& one : cases) {
    http::Answer answer;
    answer.status = one.status;
    answer.body = ExceptionJson(one.exception, "some words");
    EXPECT_EQ(FaultOf(answer).code(), one.code) << one.exception;
  }
  http::Answer answer;
  answer.status = 403;
  answer.body = ExceptionJson("AccessControlException", "Permission denied");
  EXPECT_EQ(FaultOf(answer).message(),
            "reading it is denied: the server answers 403 "
            "(AccessControlException: Permission denied)");
  answer.body = ExceptionJson(
      "IOException", "Offset=3000 out of the range [0, 10); OPEN, path=/a");
  EXPECT_EQ(FaultOf(answer).code(), absl::StatusCode::kFailedPrecondition);
  answer.body = ExceptionJson("InvalidToken", "token for me is expired");
  EXPECT_EQ(FaultOf(answer).code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(FaultOf(answer).message()),
              HasSubstr("has expired or was cancelled"));
  answer.status = 401;
  EXPECT_THAT(std::string(FaultOf(answer).message()),
              HasSubstr("hdfs.token_file"));
  answer.status = 502;
  answer.body = "<html>";
  EXPECT_EQ(FaultOf(answer).code(), absl::StatusCode::kUnavailable);
}

}  // namespace
}  // namespace forebay::storage::webhdfs

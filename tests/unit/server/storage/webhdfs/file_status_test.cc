#include "server/storage/webhdfs/file_status.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/storage/webhdfs/hdfs_server.h"

namespace forebay::storage::webhdfs {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

// The documentation of Hadoop 3.4 shows these statuses.
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

TEST_CASE("The parser of WebHDFS statuses reads what the documentation shows",
          "[webhdfs][file_status]") {
  const auto file = ParseFileStatus(kStatus);
  REQUIRE_THAT(file, IsOk());
  CHECK(file->kind == FileStatus::Kind::kFile);
  CHECK(file->version.size == 24930);
  const auto list = ParseFolder(kBatch);
  REQUIRE_THAT(list, IsOk());
  REQUIRE(list->entries.size() == 3);
  CHECK(list->entries[0].name == "bardir");
  CHECK(list->entries[0].kind == FileStatus::Kind::kFolder);
  CHECK(list->entries[1].version.size == 1024);
  CHECK(list->entries[2].kind == FileStatus::Kind::kOther);
  CHECK(list->remaining == 2);
}

TEST_CASE("A WebHDFS file's version is made of its number and its time",
          "[webhdfs][file_status]") {
  const auto stamp = [](const std::string& number, const std::string& time) {
    return ParseFileStatus(R"({"FileStatus": {"type": "FILE", "length": 1,
                           "fileId": )" +
                           number + R"(, "modificationTime": )" + time + "}}")
        ->version.stamp;
  };
  CHECK(stamp("1", "2") == stamp("1", "2"));
  CHECK(stamp("1", "2") != stamp("2", "2"));
  CHECK(stamp("1", "2") != stamp("1", "3"));
}

TEST_CASE("The parser of WebHDFS statuses checks every field",
          "[webhdfs][file_status]") {
  const auto item = [](const auto&... fields) {
    return absl::StrCat("{\"FileStatuses\": {\"FileStatus\": [{", fields...,
                        "}]}}");
  };
  const std::string name = R"("pathSuffix": "a", )";
  const std::string length = R"("type": "FILE", "length": 1, )";
  const std::string time = R"("modificationTime": 1)";
  CHECK_THAT(ParseFolder(item(name, length, time)), IsOk());
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
        item(name, R"("type": "FILE", "length": 1)")}) {
    CAPTURE(json);
    CHECK_THAT(ParseFolder(json), HasCode(absl::StatusCode::kDataLoss));
  }
  for (const char* json : {"", "{}", R"({"FileStatus": []})"})
    CHECK_THAT(ParseFileStatus(json), HasCode(absl::StatusCode::kDataLoss));
}

TEST_CASE("The parser of WebHDFS statuses leaves out what else is in a list",
          "[webhdfs][file_status]") {
  const auto list = ParseFolder(R"({"x": [[{"FileStatus": [1]}]],
      "FileStatuses": {"y": {}, "FileStatus": [
        {"z": {"pathSuffix": "no", "type": []}, "pathSuffix": "a",
         "type": "DIRECTORY", "v": [1, {}]},
        {"pathSuffix": "b", "type": "FILE", "length": 1, "w": null,
         "modificationTime": 2}], "remainingEntries": 7}})");
  REQUIRE_THAT(list, IsOk());
  REQUIRE(list->entries.size() == 2);
  CHECK(list->entries[0].name == "a");
  CHECK(list->entries[0].kind == FileStatus::Kind::kFolder);
  CHECK(list->entries[1].name == "b");
  CHECK(list->remaining == 0);
}

TEST_CASE("The WebHDFS list of a file is not taken for that of a folder",
          "[webhdfs][file_status]") {
  const absl::Status status =
      ParseFolder(R"({"FileStatuses": {"FileStatus": [{"pathSuffix": "",
                  "type": "FILE", "length": 1, "modificationTime": 1}]}})")
          .status();
  CHECK(status == absl::InvalidArgumentError("is a file, and no folder"));
}

TEST_CASE("Without a number the checksum tells versions of WebHDFS files apart",
          "[webhdfs][file_status]") {
  const auto read = [](const std::string& number) {
    return *ParseFileStatus(R"({"FileStatus": {"type": "FILE", "length": 1,
                            "modificationTime": 2)" +
                            number + "}}");
  };
  CHECK(read(R"(, "fileId": 16386)").has_number);
  CHECK_FALSE(read(R"(, "fileId": 0)").has_number);
  const FileStatus status = read("");
  CHECK_FALSE(status.has_number);
  const ObjectVersion version = VersionByChecksum(status, "MD5 00");
  CHECK(version.size == 1);
  CHECK(version == VersionByChecksum(status, "MD5 00"));
  CHECK(version != VersionByChecksum(status, "MD5 01"));
  CHECK(version != status.version);
}

TEST_CASE("The parser of WebHDFS answers reads checksums",
          "[webhdfs][file_status]") {
  // The documentation of Hadoop 3.4 shows this checksum.
  CHECK(*ParseChecksum(R"({"FileChecksum": {
                "algorithm": "MD5-of-1MD5-of-512CRC32",
                "bytes": "eadb10de24aa315748930df6e185c0d", "length": 28}})") ==
        "MD5-of-1MD5-of-512CRC32 eadb10de24aa315748930df6e185c0d");
  CHECK_THAT(*ParseChecksum(R"({"FileChecksum": null})"), Catch::Equals(""));
  for (const char* json :
       {"", "{}", R"({"FileChecksum": 1})", R"({"FileChecksum": {}})",
        R"({"FileChecksum": {"algorithm": "MD5", "bytes": 1}})"}) {
    CAPTURE(json);
    CHECK_THAT(ParseChecksum(json), HasCode(absl::StatusCode::kDataLoss));
  }
}

TEST_CASE("A WebHDFS fault goes by the exception's name",
          "[webhdfs][file_status]") {
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
    http::HttpResponse answer;
    answer.status = one.status;
    answer.body = ExceptionJson(one.exception, "some words");
    CAPTURE(one.exception);
    CHECK(FaultOf(answer).code() == one.code);
  }
  http::HttpResponse answer;
  answer.status = 403;
  answer.body = ExceptionJson("AccessControlException", "Permission denied");
  CHECK(FaultOf(answer).message() ==
        "reading it is denied: the server answers 403 "
        "(AccessControlException: Permission denied)");
  answer.body = ExceptionJson(
      "IOException", "Offset=3000 out of the range [0, 10); OPEN, path=/a");
  CHECK_THAT(FaultOf(answer), HasCode(absl::StatusCode::kFailedPrecondition));
  answer.body = ExceptionJson("InvalidToken", "token for me is expired");
  CHECK_THAT(FaultOf(answer), HasCode(absl::StatusCode::kPermissionDenied));
  CHECK_THAT(FaultOf(answer).message(),
             Contains("has expired or was cancelled"));
  answer.status = 401;
  CHECK_THAT(FaultOf(answer).message(), Contains("hdfs.token_file"));
  answer.status = 502;
  answer.body = "<html>";
  CHECK_THAT(FaultOf(answer), HasCode(absl::StatusCode::kUnavailable));
}

}  // namespace
}  // namespace forebay::storage::webhdfs

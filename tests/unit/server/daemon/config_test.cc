#include "server/daemon/config.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/config.pb.h"
#include "proto/config_options.pb.h"
#include "server/daemon/config_schema.h"
#include "server/pipeline/vector_target.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::daemon {
namespace {

using tests::AllOf;
using tests::Contains;
using tests::EndsWith;
using tests::HasCode;
using tests::IsOk;
using tests::StartsWith;

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string Refusal(const std::string& toml) {
  const auto config = ParseConfig(toml, "f.toml");
  if (config.ok()) return "accepted";
  CHECK_THAT(config, HasCode(absl::StatusCode::kInvalidArgument));
  return std::string(config.status().message());
}

std::string Runfile(const std::string& path) {
  return std::string(std::getenv("TEST_SRCDIR")) + "/" +
         std::getenv("TEST_WORKSPACE") + "/" + path;
}

TEST_CASE("An empty configuration means the defaults", "[daemon][config]") {
  const auto config = ParseConfig("", "f.toml");
  REQUIRE_THAT(config, IsOk());
  CHECK(config->memory().limit() == "50%");
  CHECK(config->storage().local_threads() == 4);
  CHECK(config->session().idle_seconds() == 10);
}

TEST_CASE("The configuration reads every kind of value", "[daemon][config]") {
  const auto config = ParseConfig(
      "memory.limit = '8GiB'\n"
      "[cpu]\nworkers = 3\n"
      "[image]\nmax_pixels = 4294836225\n"
      "[session]\nidle_seconds = 0.5\nexit_when_idle_seconds = 60\n",
      "f.toml");
  REQUIRE_THAT(config, IsOk());
  CHECK(config->memory().limit() == "8GiB");
  CHECK(config->cpu().workers() == 3);
  CHECK(config->image().max_pixels() == 4294836225u);
  CHECK(config->session().idle_seconds() == 0.5);
  CHECK(config->session().exit_when_idle_seconds() == 60);
}

TEST_CASE("The configuration refuses unknown keys and names the nearest key",
          "[daemon][config]") {
  CHECK(Refusal("[memory]\n\nlimt = '1GiB'\n") ==
        "f.toml: memory.limt: unknown key (line 3); did you mean "
        "memory.limit?");
  CHECK(Refusal("[memry]\nlimit = '1GiB'\n") ==
        "f.toml: memry: unknown key (line 1); did you mean memory?");
  CHECK(Refusal("workers = 2\n") ==
        "f.toml: workers: unknown key (line 1); did you mean "
        "cpu.workers?");
  CHECK(Refusal("[storage]\nworkers = 2\n") ==
        "f.toml: storage.workers: unknown key (line 2); did you mean "
        "cpu.workers?");
  CHECK(Refusal("zebra_crossings = 2\n") ==
        "f.toml: zebra_crossings: unknown key (line 1)");
}

TEST_CASE("The configuration refuses values of wrong types",
          "[daemon][config]") {
  CHECK(Refusal("memory = 3") == "f.toml: memory must be a table (line 1)");
  CHECK(Refusal("[[memory]]\nlimit = '1GiB'") ==
        "f.toml: memory must be a table (line 1)");
  CHECK(Refusal("[memory]\nlimit = 3") ==
        "f.toml: memory.limit must be a string (line 2)");
  CHECK(Refusal("[cpu]\nworkers = '2'") ==
        "f.toml: cpu.workers must be an integer (line 2)");
  CHECK(Refusal("[cpu]\nworkers = 2.0") ==
        "f.toml: cpu.workers must be an integer (line 2)");
  CHECK(Refusal("[session]\nidle_seconds = true") ==
        "f.toml: session.idle_seconds must be a number (line 2)");
}

TEST_CASE("The configuration refuses values out of range", "[daemon][config]") {
  CHECK(Refusal("[cpu]\nworkers = 1025") ==
        "f.toml: cpu.workers must be from 0 to 1024 (line 2)");
  CHECK(Refusal("[cpu]\nworkers = -1") ==
        "f.toml: cpu.workers must be from 0 to 1024 (line 2)");
  CHECK(Refusal("[storage]\nlocal_threads = 0") ==
        "f.toml: storage.local_threads must be from 1 to 256 (line 2)");
  CHECK(Refusal("[storage]\nio_uring = 'on'") ==
        "f.toml: storage.io_uring must be \"auto\" or \"off\", not \"on\" "
        "(line 2)");
  CHECK(Refusal("[cache]\ndecoded = 'on'") ==
        "f.toml: cache.decoded must be \"auto\", \"off\" or a size, such as "
        "\"10GiB\" or \"25%\", not \"on\" (line 2)");
  // No double has exactly one of these values.
  for (const char* number :
       {"9007199254740993", "9223372036854775807", "-9223372036854775807"}) {
    CAPTURE(number);
    CHECK(Refusal(std::string("[image]\nmax_pixels = ") + number) ==
          "f.toml: image.max_pixels must be from 1 to 4294836225 (line 2)");
  }
  CHECK(Refusal("[session]\nidle_seconds = nan") ==
        "f.toml: session.idle_seconds must be from 0 to 86400 (line 2)");
  CHECK(Refusal("[session]\nexit_when_idle_seconds = inf") ==
        "f.toml: session.exit_when_idle_seconds must be from 0 to 604800 "
        "(line 2)");
  CHECK(Refusal("[log]\nlevel = 'loud'") ==
        "f.toml: log.level must be \"debug\", \"info\", \"warning\" or "
        "\"error\", not \"loud\" (line 2)");
  CHECK(Refusal("[cuda]\nplugin = 'libforebay_cuda.so'") ==
        "f.toml: cuda.plugin must be \"auto\", \"none\" or an absolute "
        "path, not \"libforebay_cuda.so\" (line 2)");
  CHECK(Refusal("cuda.plugin = 'none'") == "accepted");
  CHECK(Refusal("s3.addressing = 'virtual'") == "accepted");
  CHECK(Refusal("s3.addressing = 'dns'") ==
        "f.toml: s3.addressing must be \"auto\", \"path\" or \"virtual\", "
        "not \"dns\" (line 1)");
  CHECK(Refusal("s3.endpoint = 'http://minio:9000'") == "accepted");
  CHECK(Refusal("s3.endpoint = 'minio:9000'") ==
        "f.toml: s3.endpoint must be a URL, such as "
        "\"https://host:9000\": minio:9000: is not a URL (line 1)");
  CHECK(Refusal("hdfs.endpoint = 'hdfs://namenode:8020'") ==
        "f.toml: hdfs.endpoint must be a URL, such as "
        "\"https://host:9000\": hdfs://namenode:8020: is not a URL (line 1)");
  CHECK(Refusal("s3.credentials = '/etc/forebay/s3'") == "accepted");
  CHECK(Refusal("s3.credentials = 'AKIA1'") ==
        "f.toml: s3.credentials must be \"auto\", \"none\" or an absolute "
        "path, not \"AKIA1\" (line 1)");
  CHECK(Refusal("cuda.plugin = '/opt/x.so'") == "accepted");
  CHECK(Refusal("[index]\ndirectory = 'here'") ==
        "f.toml: index.directory must be an absolute path, not \"here\" "
        "(line 2)");
}

TEST_CASE(
    "The configuration takes only this architecture's vector instructions",
    "[daemon][config]") {
  const std::vector<std::string> names = pipeline::VectorTargetNames();
  REQUIRE(names.size() > 2u);
  CHECK(names.front() == "auto");
  CHECK(names.back() == "none");
  for (const std::string& name : names)
    CHECK(Refusal("cpu.simd = '" + name + "'") == "accepted");
  CHECK_THAT(Refusal("[cpu]\nsimd = 'mmx'"),
             AllOf(StartsWith("f.toml: cpu.simd must be \"auto\", \""),
                   EndsWith(" or \"none\", not \"mmx\" (line 2)")));
}

TEST_CASE("The configuration checks sizes and refuses a malformed or zero one",
          "[daemon][config]") {
  for (const char* good : {"512MiB", "8GiB", "25%", "100%", "1048576B"}) {
    CAPTURE(good);
    CHECK(Refusal(std::string("memory.limit = '") + good + "'") == "accepted");
  }
  for (const char* bad :
       {"", "much", "8 gigs", "-1GiB", "101%", "99999999999999999999GiB"}) {
    CHECK(Refusal(std::string("memory.limit = '") + bad + "'") ==
          std::string("f.toml: memory.limit must be a size, such as "
                      "\"10GiB\" or \"25%\", not \"") +
              bad + "\" (line 1)");
  }
  CHECK(
      Refusal("memory.limit = '0MiB'") ==
      "f.toml: memory.limit must be a size, such as \"10GiB\" or \"25%\": 0 is "
      "too little (line 1)");
  CHECK(Refusal("producer.memory = '8GiB'") == "accepted");
  CHECK(
      Refusal("producer.memory = '0%'") ==
      "f.toml: producer.memory must be a size, such as \"10GiB\" or \"25%\": 0 "
      "is too little (line 1)");
}

TEST_CASE("The configuration refuses cache memory that is not a size",
          "[daemon][config]") {
  for (const char* good : {"auto", "0", "0%", "25%", "1GiB"}) {
    CAPTURE(good);
    CHECK(Refusal(std::string("cache.memory = '") + good + "'") == "accepted");
  }
  for (const char* bad : {"", "none", "1", "101%"})
    CHECK(Refusal(std::string("cache.memory = '") + bad + "'") ==
          std::string("f.toml: cache.memory must be \"auto\", \"0\" or a "
                      "size, such as \"10GiB\" or \"25%\", not \"") +
              bad + "\" (line 1)");
}

TEST_CASE(
    "The configuration refuses a cache on disk of an impossible size or path",
    "[daemon][config]") {
  for (const char* good : {"64MiB", "200GiB", "4TiB"}) {
    CAPTURE(good);
    CHECK(Refusal(std::string("cache.disk_size = '") + good + "'") ==
          "accepted");
  }
  for (const char* bad : {"", "0", "63MiB", "50%", "100%", "all"})
    CHECK(Refusal(std::string("cache.disk_size = '") + bad + "'") ==
          std::string("f.toml: cache.disk_size must be a size of at least "
                      "64MiB, such as \"200GiB\", not \"") +
              bad + "\" (line 1)");
  CHECK(Refusal("cache.directory = '/ssd'") == "accepted");
  CHECK(Refusal("cache.directory = 'ssd'") ==
        "f.toml: cache.directory must be an absolute path, not \"ssd\" "
        "(line 1)");
}

TEST_CASE("The configuration names the line of broken TOML",
          "[daemon][config]") {
  const std::string refusal = Refusal("[cpu]\nworkers = = 2\n");
  CAPTURE(refusal);
  CHECK(refusal.find("f.toml: ") == 0);
  CHECK_THAT(refusal, Contains("(line 2)"));
  CHECK(Refusal("a = '\xff\xfe'") != "accepted");
  CHECK(Refusal("[cpu]\nworkers = 1\nworkers = 2\n") != "accepted");
  CHECK(Refusal("cpu = " + std::string(100000, '[')) != "accepted");
  CHECK(Refusal(std::string(2 << 20, '#')) == "f.toml: larger than 1 MiB");
}

TEST_CASE("The configuration refuses keys that nest deep", "[daemon][config]") {
  const auto dotted = [](int depth) {
    std::string key = "a";
    for (int i = 1; i < depth; ++i) key += ".a";
    return key;
  };
  // Destroying so many nested tables by recursion would overflow the stack.
  const std::string deep = dotted(500'000);
  CHECK(Refusal("[cpu]\n" + deep + " = 1\n") ==
        "f.toml: no line may have more than 500 dots (line 2)");
  CHECK(Refusal("[" + deep + "]\n") ==
        "f.toml: no line may have more than 500 dots (line 1)");
  CHECK(Refusal("\n\nx = {" + deep + " = 1}") ==
        "f.toml: no line may have more than 500 dots (line 3)");
  CHECK(Refusal("cpu." + dotted(400) + " = 1") ==
        "f.toml: cpu.a: unknown key (line 1); did you mean cpu?");
  CHECK(Refusal("cpu = {workers = 1} # " + std::string(500, '.')) ==
        "accepted");
  std::string tables = "x = ";
  for (int i = 0; i < 20; ++i) tables += "{a.a = [";
  CHECK_THAT(Refusal(tables), Contains("maximum nested value"));
}

TEST_CASE("The configuration's file errors name the file", "[daemon][config]") {
  const auto missing = ReadConfig("/nonexistent/f.toml");
  CHECK_THAT(missing, HasCode(absl::StatusCode::kNotFound));
  CHECK(missing.status().message() ==
        "/nonexistent/f.toml: No such file or directory");
  CHECK_FALSE(ReadConfig("/").ok());
}

// Checks that `example` has each field, with the field's default value.
void ExpectDefaults(const Message& example, const std::string& prefix) {
  const auto& reflection = *example.GetReflection();
  const auto& descriptor = *example.GetDescriptor();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor* field = descriptor.field(i);
    const std::string name = prefix + field->name();
    CAPTURE(name);
    CHECK(reflection.HasField(example, field));
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        ExpectDefaults(reflection.GetMessage(example, field), name + ".");
        break;
      case FieldDescriptor::CPPTYPE_STRING:
        CHECK(reflection.GetString(example, field) ==
              field->default_value_string());
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        CHECK(reflection.GetDouble(example, field) ==
              field->default_value_double());
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        CHECK(reflection.GetUInt32(example, field) ==
              field->default_value_uint32());
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        CHECK(reflection.GetUInt64(example, field) ==
              field->default_value_uint64());
        break;
      default:
        FAIL_CHECK(name << ": a kind of field that no one reads");
    }
  }
}

TEST_CASE("The example configuration lists every key with its default",
          "[daemon][config]") {
  const auto example = ReadConfig(Runfile("deploy/forebayd.toml"));
  REQUIRE_THAT(example, IsOk());
  ExpectDefaults(*example, "");
}

// Calls `check` with each key of the schema and its name.
void ForEachKey(const std::function<void(const FieldDescriptor&)>& check) {
  const auto* const config = proto::Config::descriptor();
  for (int i = 0; i < config->field_count(); ++i) {
    const auto* const table = config->field(i)->message_type();
    for (int k = 0; k < table->field_count(); ++k) {
      CAPTURE(table->field(k)->full_name());
      check(*table->field(k));
    }
  }
}

TEST_CASE("Every number in the configuration has a range", "[daemon][config]") {
  // A key without a range of its own would accept every value of its protobuf
  // type.
  ForEachKey([](const FieldDescriptor& key) {
    if (key.cpp_type() == FieldDescriptor::CPPTYPE_STRING) return;
    const proto::Takes& takes = key.options().GetExtension(proto::takes);
    REQUIRE(takes.has_min());
    REQUIRE(takes.has_max());
    CHECK(takes.min() >= 0);
    CHECK_THAT(CheckNumber(key, takes.min()), IsOk());
    CHECK_THAT(CheckNumber(key, takes.max()), IsOk());
    for (const double wrong :
         {takes.min() - 1, takes.max() + 1, std::nan(""), HUGE_VAL})
      CHECK_FALSE(CheckNumber(key, wrong).ok());
  });
}

TEST_CASE("Every text in the configuration takes its words and its default",
          "[daemon][config]") {
  ForEachKey([](const FieldDescriptor& key) {
    if (key.cpp_type() != FieldDescriptor::CPPTYPE_STRING) return;
    CHECK_THAT(CheckText(key, key.default_value_string()), IsOk());
    const proto::Takes& takes = key.options().GetExtension(proto::takes);
    for (const std::string& word : takes.words())
      CHECK_THAT(CheckText(key, word), IsOk());
    CHECK_FALSE(CheckText(key, std::string_view("/a\0b", 4)).ok());
    CHECK(CheckText(key, "~ nothing takes this").ok() ==
          (takes.form() == proto::Takes::ANY));
  });
}

}  // namespace
}  // namespace forebay::daemon

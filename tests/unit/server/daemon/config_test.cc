#include "server/daemon/config.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "server/daemon/config_schema.h"
#include "server/pipeline/vector_target.h"

namespace forebay::daemon {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

std::string Refusal(const std::string& toml) {
  const auto config = ParseConfig(toml, "f.toml");
  if (config.ok()) return "accepted";
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(config.status().message());
}

std::string Runfile(const std::string& path) {
  return std::string(std::getenv("TEST_SRCDIR")) + "/" +
         std::getenv("TEST_WORKSPACE") + "/" + path;
}

TEST(ConfigTest, NothingMeansDefaults) {
  const auto config = ParseConfig("", "f.toml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->memory().limit(), "50%");
  EXPECT_EQ(config->storage().local_threads(), 4);
  EXPECT_EQ(config->session().idle_seconds(), 10);
}

TEST(ConfigTest, ReadsEveryKind) {
  const auto config = ParseConfig(
      "memory.limit = '8GiB'\n"
      "[cpu]\nworkers = 3\n"
      "[image]\nmax_pixels = 4294836225\n"
      "[session]\nidle_seconds = 0.5\nexit_when_idle_seconds = 60\n",
      "f.toml");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->memory().limit(), "8GiB");
  EXPECT_EQ(config->cpu().workers(), 3);
  EXPECT_EQ(config->image().max_pixels(), 4294836225u);
  EXPECT_EQ(config->session().idle_seconds(), 0.5);
  EXPECT_EQ(config->session().exit_when_idle_seconds(), 60);
}

TEST(ConfigTest, UnknownKeysAreRefusedWithTheNearest) {
  EXPECT_EQ(Refusal("[memory]\n\nlimt = '1GiB'\n"),
            "f.toml: memory.limt: unknown key (line 3); did you mean "
            "memory.limit?");
  EXPECT_EQ(Refusal("[memry]\nlimit = '1GiB'\n"),
            "f.toml: memry: unknown key (line 1); did you mean memory?");
  EXPECT_EQ(Refusal("workers = 2\n"),
            "f.toml: workers: unknown key (line 1); did you mean "
            "cpu.workers?");
  EXPECT_EQ(Refusal("[storage]\nworkers = 2\n"),
            "f.toml: storage.workers: unknown key (line 2); did you mean "
            "cpu.workers?");
  EXPECT_EQ(Refusal("zebra_crossings = 2\n"),
            "f.toml: zebra_crossings: unknown key (line 1)");
}

TEST(ConfigTest, WrongTypesAreRefused) {
  EXPECT_EQ(Refusal("memory = 3"), "f.toml: memory must be a table (line 1)");
  EXPECT_EQ(Refusal("[[memory]]\nlimit = '1GiB'"),
            "f.toml: memory must be a table (line 1)");
  EXPECT_EQ(Refusal("[memory]\nlimit = 3"),
            "f.toml: memory.limit must be a string (line 2)");
  EXPECT_EQ(Refusal("[cpu]\nworkers = '2'"),
            "f.toml: cpu.workers must be an integer (line 2)");
  EXPECT_EQ(Refusal("[cpu]\nworkers = 2.0"),
            "f.toml: cpu.workers must be an integer (line 2)");
  EXPECT_EQ(Refusal("[session]\nidle_seconds = true"),
            "f.toml: session.idle_seconds must be a number (line 2)");
}

TEST(ConfigTest, ValuesOutOfRangeAreRefused) {
  EXPECT_EQ(Refusal("[cpu]\nworkers = 1025"),
            "f.toml: cpu.workers must be from 0 to 1024 (line 2)");
  EXPECT_EQ(Refusal("[cpu]\nworkers = -1"),
            "f.toml: cpu.workers must be from 0 to 1024 (line 2)");
  EXPECT_EQ(Refusal("[storage]\nlocal_threads = 0"),
            "f.toml: storage.local_threads must be from 1 to 256 (line 2)");
  EXPECT_EQ(Refusal("[storage]\nio_uring = 'on'"),
            "f.toml: storage.io_uring must be \"auto\" or \"off\", not \"on\" "
            "(line 2)");
  EXPECT_EQ(
      Refusal("[cache]\ndecoded = 'on'"),
      "f.toml: cache.decoded must be \"auto\", \"off\" or a size, such as "
      "\"10GiB\" or \"25%\", not \"on\" (line 2)");
  EXPECT_EQ(Refusal("[image]\nmax_pixels = 9223372036854775807"),
            "f.toml: image.max_pixels must be from 1 to 4294836225 (line 2)");
  EXPECT_EQ(Refusal("[session]\nidle_seconds = nan"),
            "f.toml: session.idle_seconds must be from 0 to 86400 (line 2)");
  EXPECT_EQ(Refusal("[session]\nexit_when_idle_seconds = inf"),
            "f.toml: session.exit_when_idle_seconds must be from 0 to 604800 "
            "(line 2)");
  EXPECT_EQ(Refusal("[log]\nlevel = 'loud'"),
            "f.toml: log.level must be \"debug\", \"info\", \"warning\" or "
            "\"error\", not \"loud\" (line 2)");
  EXPECT_EQ(Refusal("[cuda]\nplugin = 'libforebay_cuda.so'"),
            "f.toml: cuda.plugin must be \"auto\", \"none\" or an absolute "
            "path, not \"libforebay_cuda.so\" (line 2)");
  EXPECT_EQ(Refusal("cuda.plugin = 'none'"), "accepted");
  EXPECT_EQ(Refusal("s3.addressing = 'virtual'"), "accepted");
  EXPECT_EQ(Refusal("s3.addressing = 'dns'"),
            "f.toml: s3.addressing must be \"auto\", \"path\" or \"virtual\", "
            "not \"dns\" (line 1)");
  EXPECT_EQ(Refusal("s3.endpoint = 'http://minio:9000'"), "accepted");
  EXPECT_EQ(Refusal("s3.endpoint = 'minio:9000'"),
            "f.toml: s3.endpoint must be a URL, such as "
            "\"https://host:9000\": minio:9000: is no URL (line 1)");
  EXPECT_EQ(Refusal("hdfs.endpoint = 'hdfs://namenode:8020'"),
            "f.toml: hdfs.endpoint must be a URL, such as "
            "\"https://host:9000\": hdfs://namenode:8020: is no URL (line 1)");
  EXPECT_EQ(Refusal("s3.credentials = '/etc/forebay/s3'"), "accepted");
  EXPECT_EQ(Refusal("s3.credentials = 'AKIA1'"),
            "f.toml: s3.credentials must be \"auto\", \"none\" or an absolute "
            "path, not \"AKIA1\" (line 1)");
  EXPECT_EQ(Refusal("cuda.plugin = '/opt/x.so'"), "accepted");
  EXPECT_EQ(Refusal("[index]\ndirectory = 'here'"),
            "f.toml: index.directory must be an absolute path, not \"here\" "
            "(line 2)");
}

TEST(ConfigTest, VectorInstructionsAreThisArchitectures) {
  const std::vector<std::string> names = pipeline::VectorTargetNames();
  ASSERT_GT(names.size(), 2u);
  EXPECT_EQ(names.front(), "auto");
  EXPECT_EQ(names.back(), "none");
  for (const std::string& name : names)
    EXPECT_EQ(Refusal("cpu.simd = '" + name + "'"), "accepted");
  EXPECT_THAT(Refusal("[cpu]\nsimd = 'mmx'"),
              testing::AllOf(
                  testing::StartsWith("f.toml: cpu.simd must be \"auto\", \""),
                  testing::EndsWith(" or \"none\", not \"mmx\" (line 2)")));
}

TEST(ConfigTest, SizesAreChecked) {
  for (const char* good : {"512MiB", "8GiB", "25%", "100%", "1048576B"}) {
    EXPECT_EQ(Refusal(std::string("memory.limit = '") + good + "'"), "accepted")
        << good;
  }
  for (const char* bad :
       {"", "much", "8 gigs", "-1GiB", "101%", "99999999999999999999GiB"}) {
    EXPECT_EQ(Refusal(std::string("memory.limit = '") + bad + "'"),
              std::string("f.toml: memory.limit is not a size such as "
                          "\"512MiB\", \"8GiB\" or \"25%\": \"") +
                  bad + "\" (line 1)");
  }
  EXPECT_EQ(Refusal("memory.limit = '0MiB'"),
            "f.toml: memory.limit must not be 0 (line 1)");
  EXPECT_EQ(Refusal("producer.memory = '8GiB'"), "accepted");
  EXPECT_EQ(Refusal("producer.memory = '0%'"),
            "f.toml: producer.memory must not be 0 (line 1)");
}

TEST(ConfigTest, RefusesCacheMemoryThatIsNone) {
  for (const char* good : {"auto", "0", "0%", "25%", "1GiB"})
    EXPECT_EQ(Refusal(std::string("cache.memory = '") + good + "'"), "accepted")
        << good;
  for (const char* bad : {"", "none", "1", "101%"})
    EXPECT_EQ(Refusal(std::string("cache.memory = '") + bad + "'"),
              std::string("f.toml: cache.memory is neither \"auto\", \"0\" nor "
                          "a size such as \"8GiB\" or \"25%\": \"") +
                  bad + "\" (line 1)");
}

TEST(ConfigTest, RefusesACacheOnDiskThatCannotBe) {
  for (const char* good : {"64MiB", "200GiB", "4TiB"})
    EXPECT_EQ(Refusal(std::string("cache.disk_size = '") + good + "'"),
              "accepted")
        << good;
  for (const char* bad : {"", "0", "63MiB", "50%", "100%", "all"})
    EXPECT_EQ(Refusal(std::string("cache.disk_size = '") + bad + "'"),
              std::string("f.toml: cache.disk_size is not a size of at least "
                          "64MiB, such as \"200GiB\": \"") +
                  bad + "\" (line 1)");
  EXPECT_EQ(Refusal("cache.directory = '/ssd'"), "accepted");
  EXPECT_EQ(Refusal("cache.directory = 'ssd'"),
            "f.toml: cache.directory must be an absolute path, not \"ssd\" "
            "(line 1)");
}

TEST(ConfigTest, BrokenTomlNamesTheLine) {
  const std::string refusal = Refusal("[cpu]\nworkers = = 2\n");
  EXPECT_EQ(refusal.find("f.toml: "), 0) << refusal;
  EXPECT_NE(refusal.find("(line 2)"), std::string::npos) << refusal;
  EXPECT_NE(Refusal("a = '\xff\xfe'"), "accepted");
  EXPECT_NE(Refusal("[cpu]\nworkers = 1\nworkers = 2\n"), "accepted");
  EXPECT_NE(Refusal("cpu = " + std::string(100000, '[')), "accepted");
  EXPECT_EQ(Refusal(std::string(2 << 20, '#')), "f.toml: larger than 1 MiB");
}

TEST(ConfigTest, RefusesKeysThatNestDeep) {
  const auto dotted = [](int depth) {
    std::string key = "a";
    for (int i = 1; i < depth; ++i) key += ".a";
    return key;
  };
  // Destroying so many tables recursively ends the program.
  const std::string deep = dotted(500'000);
  EXPECT_EQ(Refusal("[cpu]\n" + deep + " = 1\n"),
            "f.toml: no line may have more than 500 dots (line 2)");
  EXPECT_EQ(Refusal("[" + deep + "]\n"),
            "f.toml: no line may have more than 500 dots (line 1)");
  EXPECT_EQ(Refusal("\n\nx = {" + deep + " = 1}"),
            "f.toml: no line may have more than 500 dots (line 3)");
  EXPECT_EQ(Refusal("cpu." + dotted(400) + " = 1"),
            "f.toml: cpu.a: unknown key (line 1); did you mean cpu?");
  EXPECT_EQ(Refusal("cpu = {workers = 1} # " + std::string(500, '.')),
            "accepted");
  std::string tables = "x = ";
  for (int i = 0; i < 20; ++i) tables += "{a.a = [";
  EXPECT_THAT(Refusal(tables), testing::HasSubstr("maximum nested value"));
}

TEST(ConfigTest, FileErrorsNameTheFile) {
  const auto missing = ReadConfig("/nonexistent/f.toml");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(missing.status().message(),
            "/nonexistent/f.toml: No such file or directory");
  EXPECT_FALSE(ReadConfig("/").ok());
}

// Each field that `example` lacks, or that has another value than its default.
void ExpectDefaults(const Message& example, const std::string& prefix) {
  const auto& reflection = *example.GetReflection();
  const auto& descriptor = *example.GetDescriptor();
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor* field = descriptor.field(i);
    const std::string name = prefix + field->name();
    EXPECT_TRUE(reflection.HasField(example, field)) << name << " is missing";
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_MESSAGE:
        ExpectDefaults(reflection.GetMessage(example, field), name + ".");
        break;
      case FieldDescriptor::CPPTYPE_STRING:
        EXPECT_EQ(reflection.GetString(example, field),
                  field->default_value_string())
            << name;
        break;
      case FieldDescriptor::CPPTYPE_DOUBLE:
        EXPECT_EQ(reflection.GetDouble(example, field),
                  field->default_value_double())
            << name;
        break;
      case FieldDescriptor::CPPTYPE_UINT32:
        EXPECT_EQ(reflection.GetUInt32(example, field),
                  field->default_value_uint32())
            << name;
        break;
      case FieldDescriptor::CPPTYPE_UINT64:
        EXPECT_EQ(reflection.GetUInt64(example, field),
                  field->default_value_uint64())
            << name;
        break;
      default:
        ADD_FAILURE() << name << ": a kind of field that no one reads";
    }
  }
}

TEST(ConfigTest, TheExampleListsEveryKeyWithItsDefault) {
  const auto example = ReadConfig(Runfile("deploy/forebayd.toml"));
  ASSERT_TRUE(example.ok()) << example.status();
  ExpectDefaults(*example, "");
}

TEST(ConfigTest, EveryNumberHasARange) {
  // Protobuf's own limits would let anything in.
  for (const std::string& key : ConfigKeys()) {
    const auto dot = key.find('.');
    if (dot == std::string::npos) continue;
    const auto* table = proto::Config::descriptor()
                            ->FindFieldByName(key.substr(0, dot))
                            ->message_type();
    const FieldDescriptor* field = table->FindFieldByName(key.substr(dot + 1));
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) continue;
    EXPECT_FALSE(CheckNumber(key, -1).ok()) << key;
    EXPECT_FALSE(CheckNumber(key, 1e18).ok()) << key;
  }
}

}  // namespace
}  // namespace forebay::daemon

// The whole program against a real gRPC server, in front of made-up jobs.

#include <gtest/gtest.h>
#include <png.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "cuda/fake_driver.h"
#include "proto/version.h"
#include "server/admin/admin_server.h"
#include "server/base/clock.h"
#include "tests/unit/server/admin/fake_control.h"
#include "tests/unit/server/admin/fake_introspection.h"
#include "tests/unit/server/admin/tsan_suppressions.h"

namespace forebay::ctl {
namespace {

struct Outcome {
  int code = -1;
  std::string out;
  std::string err;
};

class ForebayctlTest : public testing::Test {
 protected:
  void SetUp() override {
    char directory[] = "/tmp/forebayctl-test.XXXXXX";
    ASSERT_NE(mkdtemp(directory), nullptr);
    directory_ = directory;
    jobs_.SetJobs({admin::ResnetJob()});
    std::ofstream(directory_ + "/tsan") << TsanSuppressions();
  }

  void TearDown() override {
    server_.reset();
    for (const char* name : {"/err", "/batch.png", "/tsan"}) {
      unlink((directory_ + name).c_str());
    }
    rmdir(directory_.c_str());
  }

  void StartDaemon() {
    auto server = admin::AdminServer::Start(
        directory_ + "/admin.sock",
        {.jobs = &jobs_,
         .control = &control_,
         .daemon =
             [this] {
               admin::DaemonInfo info;
               info.version = proto::kVersion;
               info.uptime_seconds = 303;
               info.runtime_dir = directory_;
               info.index_directory = directory_;
               info.memory_limit = std::uint64_t{1} << 30;
               info.memory_used = std::uint64_t{1} << 28;
               info.memory_slots = std::uint64_t{1} << 27;
               info.memory_cache = std::uint64_t{1} << 26;
               info.workers = 1;
               info.simd_target = "AVX2";
               info.gpus = cuda::FakeDriver(2).inventory();
               info.warnings = warnings_;
               return info;
             },
         .cache = admin::ResnetCache,
         .disk_tier = [this] { return disk_tier_; },
         .clock = base::Clock::Monotonic()});
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  Outcome Run(const std::string& arguments) {
    const std::string program = std::string(std::getenv("TEST_SRCDIR")) + "/" +
                                std::getenv("TEST_WORKSPACE") +
                                "/tools/forebayctl/forebayctl";
    const std::string command = "TSAN_OPTIONS=suppressions=" + directory_ +
                                "/tsan FOREBAY_RUNTIME_DIR=" + directory_ +
                                " '" + program + "' " + arguments + " 2>" +
                                directory_ + "/err </dev/null";
    Outcome outcome;
    FILE* pipe = popen(command.c_str(), "r");
    char buffer[4096];
    while (const std::size_t bytes = fread(buffer, 1, sizeof(buffer), pipe)) {
      outcome.out.append(buffer, bytes);
    }
    outcome.code = WEXITSTATUS(pclose(pipe));
    std::ostringstream err;
    err << std::ifstream(directory_ + "/err").rdbuf();
    outcome.err = err.str();
    return outcome;
  }

  std::string directory_;
  std::optional<cache::disk::Snapshot> disk_tier_;
  std::vector<std::string> warnings_;
  admin::FakeIntrospection jobs_;
  admin::FakeControl control_;
  std::unique_ptr<admin::AdminServer> server_;
};

TEST_F(ForebayctlTest, WithoutADaemonEachVerbSaysSo) {
  for (const std::string verb :
       {"status", "jobs", "queues", "cache", "top --once", "peek resnet",
        "set resnet --weight 2"}) {
    for (const std::string json : {"", " --json"}) {
      const Outcome outcome = Run(verb + json);
      EXPECT_EQ(outcome.code, 3) << verb;
      EXPECT_EQ(outcome.out, "");
      EXPECT_EQ(outcome.err, "forebayctl: no forebay daemon is running in " +
                                 directory_ + "\n");
    }
  }
  const Outcome doctor = Run("doctor");
  EXPECT_EQ(doctor.code, 3);
  EXPECT_EQ(doctor.out.find("PROBLEM  daemon         no forebay daemon is "
                            "running in " +
                            directory_ + ".\n"),
            0)
      << doctor.out;
  const Outcome version = Run("version");
  EXPECT_EQ(version.code, 0);
  EXPECT_NE(version.out.find("forebayd is not running"), std::string::npos);
}

TEST_F(ForebayctlTest, BadCommandLines) {
  for (const std::string arguments :
       {"", "stauts", "peek", "top --interval 0", "status --nope", "set",
        "set resnet", "set resnet --weight 0", "set resnet --weight 1001",
        "set resnet --weight much", "set resnet --max-read 200",
        "set resnet --max-cpu all --weight 2"}) {
    EXPECT_EQ(Run(arguments).code, 2) << arguments;
  }
  EXPECT_EQ(Run("--help").code, 0);
}

TEST_F(ForebayctlTest, Status) {
  StartDaemon();
  const Outcome outcome = Run("status");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("up 5 min 03 s"), std::string::npos);
  EXPECT_NE(outcome.out.find("memory      256 MiB of 1.00 GiB (25%), of it "
                             "128 MiB in batches, 64.0 MiB set aside for the "
                             "cache\n"),
            std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.out.find(
                "GPUs        Fake GPU (16.0 GiB), Fake GPU (16.0 GiB)\n"),
            std::string::npos)
      << outcome.out;
  const std::string json = Run("status --json").out;
  EXPECT_NE(json.find("\"memory_limit\": \"1073741824\""), std::string::npos);
  EXPECT_NE(json.find("\"numa_node\": 0"), std::string::npos);
}

TEST_F(ForebayctlTest, Set) {
  StartDaemon();
  EXPECT_EQ(Run("set resnet --weight 2.5").out, "resnet has weight 2.5\n");
  EXPECT_EQ(control_.change().weight, 2.5);
  EXPECT_EQ(control_.change().max_read, std::nullopt);
  EXPECT_EQ(Run("set resnet --max-read 200MB/s --max-cpu 1.5").out,
            "resnet reads at most 200 MB/s, takes at most 1.5 CPUs\n");
  EXPECT_EQ(control_.change().weight, std::nullopt);
  EXPECT_EQ(control_.change().max_read, 200e6);
  EXPECT_EQ(control_.change().max_cpus, 1.5);
  EXPECT_EQ(Run("set resnet --max-read none --max-cpu none").out,
            "resnet reads as much as it can, takes as many CPUs as it can\n");
  EXPECT_EQ(control_.change().max_cpus,
            std::numeric_limits<double>::infinity());
  const Outcome bad = Run("set resnet --max-read fast");
  EXPECT_EQ(bad.code, 2);
  EXPECT_NE(bad.err.find("\"fast\" is no rate"), std::string::npos) << bad.err;
  const Outcome json = Run("--json set resnet --weight 4");
  EXPECT_EQ(json.code, 0);
  EXPECT_NE(json.out.find("\"weight\": 4"), std::string::npos) << json.out;
  for (const std::string nan :
       {"set resnet --weight nan", "top --once --interval nan"}) {
    const Outcome refused = Run(nan);
    EXPECT_EQ(refused.code, 2);
    EXPECT_NE(refused.err.find("nan is not a number"), std::string::npos);
  }
  const Outcome unreadable = Run("set '\xff' --weight 1");
  EXPECT_EQ(unreadable.code, 1);
  EXPECT_EQ(unreadable.err,
            "forebayctl: the daemon cannot read the request: its text is "
            "not UTF-8\n");
  const Outcome unknown = Run("set bert --weight 1");
  EXPECT_EQ(unknown.code, 1);
  EXPECT_EQ(unknown.err, "forebayctl: no job is called so; there is: resnet\n");
}

TEST_F(ForebayctlTest, OutputThatIsLostIsAFailure) {
  StartDaemon();
  for (const std::string arguments : {"status", "--help", "jobs --json"}) {
    const Outcome outcome = Run(arguments + " >/dev/full");
    EXPECT_EQ(outcome.code, 1) << arguments;
    EXPECT_EQ(outcome.err, "forebayctl: standard output cannot be written\n");
  }
}

TEST_F(ForebayctlTest, JobsAndQueues) {
  StartDaemon();
  EXPECT_EQ(Run("jobs").out,
            "JOB     WEIGHT  CAPS  LOADER  DATASET      PLACE  SAMPLES  BATCH "
            " EPOCH  DONE  IMAGES  DECODED  SHARING                    "
            "       DELIVERED     READ  FROM MEMORY    SHARED  FROM SSD"
            "  FROM SOURCE  SUBSTITUTED  PROCESSES\n"
            "resnet       2  -     train   /data/train  host     1,000      4 "
            "     2   50%   2,500    1,250  1,234 behind, reads what is"
            " kept   4.66 GiB  112 MiB      286 MiB  47.7 MiB  71.5 MiB"
            "     23.8 MiB            0  4711 4712\n"
            "                      val     /data/val?   host        50      8 "
            "     0  idle       0        0  -                          "
            "             0 B      0 B                                 "
            "                         0\n");
  EXPECT_EQ(
      Run("queues").out,
      "JOB     LOADER  SLOTS  DEPTH  FREE  FILLING  COPYING  KEPT  READY  "
      "HELD  COPIED  READS  IN FLIGHT    WINDOW  DECODING  TRAINE"
      "R   SHARING                           MEMORY MB/S  SHARED "
      " SSD  SOURCE  NETWORK\n"
      "resnet  train       9      3     0        1        0     5      2  "
      "   1       0      3    184 KiB  16.0 MiB         1  comput"
      "es  1,234 behind, reads what is kept            0       0 "
      "   0       0        0\n"
      "resnet  val         0      0     0        0        0     0      0  "
      "   0       0      0        0 B       0 B         0  idle  "
      "    -\n");
  const std::string json = Run("--json jobs").out;
  EXPECT_NE(json.find("\"samples_delivered\": \"2500\""), std::string::npos);
  EXPECT_NE(json.find("\"slots_ready\": 2"), std::string::npos);
  EXPECT_NE(json.find("\"slots_kept\": 5"), std::string::npos);
  EXPECT_NE(json.find("\"standing\": \"TRAILING\""), std::string::npos);
  jobs_.SetJobs({});
  EXPECT_EQ(Run("jobs").out, "no jobs\n");
}

TEST_F(ForebayctlTest, WhatAJobWaitsForIsShown) {
  job::JobSnapshot job = admin::ResnetJob();
  job.loaders.clear();
  job.pending = {{.uri = "http://10.0.0.7:8080/train",
                  .host = "http://10.0.0.7:8080",
                  .since_nanos = base::Clock::Monotonic()->NowNanos()}};
  jobs_.SetJobs({job});
  StartDaemon();
  const std::string sentence = "opening, waits for http://10.0.0.7:8080 for ";
  for (const std::string verb : {"jobs", "top --interval 0.1", "status"}) {
    const std::string out = Run(verb).out;
    EXPECT_NE(out.find("resnet: " + sentence), std::string::npos) << out;
    EXPECT_EQ(out.find("idle"), std::string::npos) << out;
  }
  for (const std::string verb : {"jobs", "top --interval 0.1", "status"}) {
    const std::string out = Run("--json " + verb).out;
    EXPECT_NE(out.find("\"OPENING\""), std::string::npos) << out;
    EXPECT_NE(out.find("\"http://10.0.0.7:8080/train\""), std::string::npos);
  }
}

TEST_F(ForebayctlTest, Cache) {
  StartDaemon();
  EXPECT_EQ(Run("cache").out,
            "memory    256 MiB of 1.00 GiB (25%), 4,000 entries, 3 read"
            "s under way\n"
            "saved     620 MiB that no source had to give\n"
            "given up  100 entries, 4.77 MiB\n"
            "not kept  200 reads, 9.54 MiB; 2 failed\n"
            "encoded   3,700 entries in 143 MiB, 8,500 hits\n"
            "decoded   300 entries in 95.4 MiB, 500 hits, which saved 2.5 s of "
            "CPU time; 800 made\n"
            "\n"
            "JOB      READS  HITS  FROM MEMORY    SHARED  FROM SSD  FROM "
            "SOURCE\n"
            "resnet   9,000   94%      286 MiB  47.7 MiB  71.5 MiB     23"
            ".8 MiB\n"
            "all     14,200   92%      429 MiB  47.7 MiB   143 MiB     57"
            ".2 MiB\n");
  const std::string json = Run("--json cache").out;
  EXPECT_NE(json.find("\"capacity\": \"1073741824\""), std::string::npos);
  EXPECT_NE(json.find("\"bytes_saved\": \"650000000\""), std::string::npos);
}

TEST_F(ForebayctlTest, CacheOnDisk) {
  disk_tier_ = admin::ResnetDiskTier();
  StartDaemon();
  EXPECT_NE(
      Run("cache").out.find(
          "made\n"
          "\n"
          "disk      512 GiB of 1.00 TiB (50%), 5,000,000 entries; left alone "
          "for a while: it failed or is slow\n"
          "  hits      75% of 4,000 reads, 143 MiB\n"
          "  written   95.4 MiB, 1.00 MiB wait\n"
          "  given up  10 entries, 488 KiB; 4 of them written once more\n"
          "  not kept  20 reads, 977 KiB; 3 entries were damaged, 4 times the "
          "disk failed\n"
          "\n"
          "JOB"),
      std::string::npos)
      << Run("cache").out;
  EXPECT_NE(Run("--json cache").out.find("\"damaged\": \"3\""),
            std::string::npos);
}

TEST_F(ForebayctlTest, TopPrintsOneSampleWhereThereIsNoTerminal) {
  StartDaemon();
  EXPECT_EQ(Run("top --interval 0.1").out,
            "JOB     IMG/S  DECODES/S  READ MB/S  FROM MEMORY  SHARED  "
            "FROM SSD  FROM SOURCE  BY NETWORK  DELIVERED MB/S   CPU  R"
            "EADY  WAIT  SHARING\n"
            "resnet      0          0          0            0       0  "
            "       0            0           0               0  0.00   "
            " 2/9    0%  1,234 behind, reads what is kept\n");
  const std::string json = Run("top --interval 0.1 --json").out;
  EXPECT_NE(json.find("\"images_per_second\": 0"), std::string::npos) << json;
  EXPECT_NE(json.find("\"decodes_per_second\": 0"), std::string::npos);
  EXPECT_NE(json.find("\"sharing\": \"1,234 behind, reads what is kept\""),
            std::string::npos);
  EXPECT_NE(json.find("\"memory_bytes_per_second\": 0"), std::string::npos);
  EXPECT_NE(json.find("\"disk_bytes_per_second\": 0"), std::string::npos);
  EXPECT_NE(json.find("\"network_bytes_per_second\": 0"), std::string::npos);
}

TEST_F(ForebayctlTest, PeekWritesThePicture) {
  job::PeekedBatch batch;
  admin::AddField("image", proto::FieldKind::kImage, proto::DType::kUint8,
                  {2, 3, 1, 1}, &batch.slot);
  admin::AddField("label", proto::FieldKind::kLabel, proto::DType::kInt64, {2},
                  &batch.slot);
  for (int i = 0; i < 6; ++i) admin::FieldData(&batch.slot, 0)[i] = 40 * i;
  admin::FieldData(&batch.slot, 1)[8] = 1;
  batch.classes = {"cat", "dog"};
  jobs_.SetBatch(batch);
  StartDaemon();
  const std::string path = directory_ + "/batch.png";
  const Outcome outcome = Run("peek resnet -o " + path);
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(outcome.out, path + ": 8 x 5 pixels\ncat, dog\n");

  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  ASSERT_NE(png_image_begin_read_from_file(&image, path.c_str()), 0);
  image.format = PNG_FORMAT_RGB;
  std::vector<std::uint8_t> rgb(PNG_IMAGE_SIZE(image));
  ASSERT_NE(png_image_finish_read(&image, nullptr, rgb.data(), 0, nullptr), 0);
  const std::uint8_t* second = rgb.data() + 3 * (2 * 8 + 5);
  EXPECT_EQ(second[0], 120);
  EXPECT_EQ(second[1], 160);
  EXPECT_EQ(second[2], 200);

  const Outcome json = Run("peek slurm-17 --json -o " + path);
  EXPECT_NE(json.out.find("\"labels\": [\n  \"cat\",\n  \"dog\"\n ]"),
            std::string::npos)
      << json.out;
  const Outcome unknown = Run("peek bert -o " + path);
  EXPECT_EQ(unknown.code, 1);
  EXPECT_EQ(unknown.err,
            "forebayctl: there is no such job; there is: resnet\n");
}

TEST_F(ForebayctlTest, DoctorPassesOnTheDaemonsWarnings) {
  StartDaemon();
  const Outcome well = Run("doctor");
  EXPECT_EQ(well.code, 0) << well.out;
  warnings_ = {"The index is kept in memory: the disk is full."};
  const Outcome ill = Run("doctor");
  EXPECT_EQ(ill.code, 1);
  EXPECT_NE(ill.out.find("PROBLEM  warning        The index is kept in "
                         "memory: the disk is full.\n"),
            std::string::npos)
      << ill.out;
  EXPECT_NE(Run("doctor --json").out.find("\"healthy\": false"),
            std::string::npos);
}

}  // namespace
}  // namespace forebay::ctl

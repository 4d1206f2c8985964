// Tests of the tables that the whole program prints.

#include <string>

#include "server/base/clock.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/admin/fake_introspection.h"
#include "tests/unit/tools/forebayctl/forebayctl_fixture.h"

namespace forebay::ctl {
namespace {

using tests::Contains;

TEST_CASE_METHOD(
    ForebayctlTest,
    "The jobs and queues verbs of forebayctl print tables of loaders",
    "[forebayctl][forebayctl_tables]") {
  StartDaemon();
  CHECK(Run("jobs").out ==
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
  CHECK(Run("queues").out ==
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
  CHECK_THAT(json, Contains("\"samples_delivered\": \"2500\""));
  CHECK_THAT(json, Contains("\"slots_ready\": 2"));
  CHECK_THAT(json, Contains("\"slots_kept\": 5"));
  CHECK_THAT(json, Contains("\"standing\": \"TRAILING\""));
  jobs_.SetJobs({});
  CHECK(Run("jobs").out == "no jobs\n");
}

TEST_CASE_METHOD(ForebayctlTest,
                 "The verbs of forebayctl show what a job waits for",
                 "[forebayctl][forebayctl_tables]") {
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
    CHECK_THAT(out, Contains("resnet: " + sentence));
    CHECK_THAT(out, !Contains("idle"));
  }
  for (const std::string verb : {"jobs", "top --interval 0.1", "status"}) {
    const std::string out = Run("--json " + verb).out;
    CHECK_THAT(out, Contains("\"OPENING\""));
    CHECK_THAT(out, Contains("\"http://10.0.0.7:8080/train\""));
  }
}

TEST_CASE_METHOD(ForebayctlTest,
                 "The cache verb of forebayctl shows the cache in memory",
                 "[forebayctl][forebayctl_tables]") {
  StartDaemon();
  CHECK(Run("cache").out ==
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
  CHECK_THAT(json, Contains("\"capacity\": \"1073741824\""));
  CHECK_THAT(json, Contains("\"bytes_saved\": \"650000000\""));
}

TEST_CASE_METHOD(ForebayctlTest,
                 "The cache verb of forebayctl shows the cache on disk",
                 "[forebayctl][forebayctl_tables]") {
  disk_tier_ = admin::ResnetDiskTier();
  StartDaemon();
  CHECK_THAT(
      Run("cache").out,
      Contains(
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
          "JOB"));
  CHECK_THAT(Run("--json cache").out, Contains("\"damaged\": \"3\""));
}

TEST_CASE_METHOD(
    ForebayctlTest,
    "The top verb of forebayctl prints one sample without a terminal",
    "[forebayctl][forebayctl_tables]") {
  StartDaemon();
  CHECK(Run("top --interval 0.1").out ==
        "JOB     IMG/S  DECODES/S  READ MB/S  FROM MEMORY  SHARED  "
        "FROM SSD  FROM SOURCE  BY NETWORK  DELIVERED MB/S   CPU  R"
        "EADY  WAIT  SHARING\n"
        "resnet      0          0          0            0       0  "
        "       0            0           0               0  0.00   "
        " 2/9    0%  1,234 behind, reads what is kept\n");
  const std::string json = Run("top --interval 0.1 --json").out;
  CHECK_THAT(json, Contains("\"images_per_second\": 0"));
  CHECK_THAT(json, Contains("\"decodes_per_second\": 0"));
  CHECK_THAT(json,
             Contains("\"sharing\": \"1,234 behind, reads what is kept\""));
  CHECK_THAT(json, Contains("\"memory_bytes_per_second\": 0"));
  CHECK_THAT(json, Contains("\"disk_bytes_per_second\": 0"));
  CHECK_THAT(json, Contains("\"network_bytes_per_second\": 0"));
}

}  // namespace
}  // namespace forebay::ctl

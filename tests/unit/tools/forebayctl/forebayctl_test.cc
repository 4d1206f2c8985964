// Tests of the whole program with a real gRPC server, whose jobs are invented.

#include <png.h>

#include <limits>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/admin/fake_introspection.h"
#include "tests/unit/tools/forebayctl/forebayctl_fixture.h"

namespace forebay::ctl {
namespace {

using tests::Contains;

TEST_CASE_METHOD(ForebayctlTest,
                 "Without a daemon each verb of forebayctl says so",
                 "[forebayctl]") {
  for (const std::string verb :
       {"status", "jobs", "queues", "cache", "top --once", "peek resnet",
        "set resnet --weight 2"}) {
    for (const std::string json : {"", " --json"}) {
      const Outcome outcome = Run(verb + json);
      CAPTURE(verb);
      CHECK(outcome.code == 3);
      CHECK_THAT(outcome.out, Catch::Equals(""));
      CHECK(outcome.err ==
            "forebayctl: no forebay daemon is running in " + directory_ + "\n");
    }
  }
  const Outcome doctor = Run("doctor");
  CHECK(doctor.code == 3);
  CAPTURE(doctor.out);
  CHECK(doctor.out.find("PROBLEM  daemon         no forebay daemon is "
                        "running in " +
                        directory_ + ".\n") == 0);
  const Outcome version = Run("version");
  CHECK(version.code == 0);
  CHECK_THAT(version.out, Contains("forebayd is not running"));
}

TEST_CASE_METHOD(ForebayctlTest,
                 "Bad command lines make forebayctl exit with code 2",
                 "[forebayctl]") {
  for (const std::string arguments :
       {"", "stauts", "peek", "top --interval 0", "status --nope", "set",
        "set resnet", "set resnet --weight 0", "set resnet --weight 1001",
        "set resnet --weight much", "set resnet --max-read 200",
        "set resnet --max-cpu all --weight 2"}) {
    CAPTURE(arguments);
    CHECK(Run(arguments).code == 2);
  }
  CHECK(Run("--help").code == 0);
}

TEST_CASE_METHOD(
    ForebayctlTest,
    "The status verb of forebayctl shows the daemon's memory and GPUs",
    "[forebayctl]") {
  StartDaemon();
  const Outcome outcome = Run("status");
  CAPTURE(outcome.err);
  CHECK(outcome.code == 0);
  CHECK_THAT(outcome.out, Contains("up 5 min 03 s"));
  CHECK_THAT(outcome.out,
             Contains("memory        256 MiB of 1.00 GiB (25%), of it "
                      "128 MiB in batches, 64.0 MiB set aside for the "
                      "cache\n"));
  CHECK_THAT(
      outcome.out,
      Contains("GPUs          Fake GPU (16.0 GiB), Fake GPU (16.0 GiB)\n"));
  CHECK_THAT(outcome.out, Contains("\nworkers       0 of 1 busy"));
  CHECK_THAT(outcome.out, Contains("\nuser workers  0 with 0 B"));
  const std::string json = Run("status --json").out;
  CHECK_THAT(json, Contains("\"memory_limit\": \"1073741824\""));
  CHECK_THAT(json, Contains("\"numa_node\": 0"));
}

TEST_CASE_METHOD(ForebayctlTest,
                 "The status verb of forebayctl gives no two lines one label",
                 "[forebayctl]") {
  warnings_ = {"One warning.", "Another warning."};
  StartDaemon();
  std::istringstream lines(Run("status").out);
  std::multiset<std::string> labels;
  for (std::string line; std::getline(lines, line);)
    labels.insert(line.substr(0, line.find("  ")));
  CHECK(labels.size() > 6u);
  CHECK(labels.count("warning") == 2);
  for (const std::string& label : labels) {
    CAPTURE(label);
    if (label != "warning" && label != "waiting")
      CHECK(labels.count(label) == 1);
  }
}

TEST_CASE_METHOD(ForebayctlTest,
                 "The set verb of forebayctl changes a job's weight and caps",
                 "[forebayctl]") {
  StartDaemon();
  CHECK(Run("set resnet --weight 2.5").out == "resnet has weight 2.5\n");
  CHECK(control_.change().weight == 2.5);
  CHECK(control_.change().max_read == std::nullopt);
  CHECK(Run("set resnet --max-read 200MB/s --max-cpu 1.5").out ==
        "resnet reads at most 200 MB/s, takes at most 1.5 CPUs\n");
  CHECK(control_.change().weight == std::nullopt);
  CHECK(control_.change().max_read == 200e6);
  CHECK(control_.change().max_cpus == 1.5);
  CHECK(Run("set resnet --max-read none --max-cpu none").out ==
        "resnet reads as much as it can, takes as many CPUs as it can\n");
  CHECK(control_.change().max_cpus == std::numeric_limits<double>::infinity());
  const Outcome bad = Run("set resnet --max-read fast");
  CHECK(bad.code == 2);
  CHECK_THAT(bad.err, Contains("\"fast\" is not a rate"));
  const Outcome json = Run("--json set resnet --weight 4");
  CHECK(json.code == 0);
  CHECK_THAT(json.out, Contains("\"weight\": 4"));
  for (const std::string nan :
       {"set resnet --weight nan", "top --once --interval nan"}) {
    const Outcome refused = Run(nan);
    CHECK(refused.code == 2);
    CHECK_THAT(refused.err, Contains("nan is not a number"));
  }
  const Outcome unreadable = Run("set '\xff' --weight 1");
  CHECK(unreadable.code == 1);
  CHECK(unreadable.err ==
        "forebayctl: the daemon cannot read the request: its text is "
        "not UTF-8\n");
  const Outcome unknown = Run("set bert --weight 1");
  CHECK(unknown.code == 1);
  CHECK(unknown.err == "forebayctl: no job is called so; there is: resnet\n");
}

TEST_CASE_METHOD(ForebayctlTest,
                 "Output that is lost is a failure of forebayctl",
                 "[forebayctl]") {
  StartDaemon();
  for (const std::string arguments : {"status", "--help", "jobs --json"}) {
    const Outcome outcome = Run(arguments + " >/dev/full");
    CAPTURE(arguments);
    CHECK(outcome.code == 1);
    CHECK(outcome.err == "forebayctl: standard output cannot be written\n");
  }
}

TEST_CASE_METHOD(ForebayctlTest,
                 "The peek verb of forebayctl writes the picture",
                 "[forebayctl]") {
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
  CAPTURE(outcome.err);
  CHECK(outcome.code == 0);
  CHECK(outcome.out == path + ": 8 x 5 pixels\ncat, dog\n");

  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  REQUIRE(png_image_begin_read_from_file(&image, path.c_str()) != 0);
  image.format = PNG_FORMAT_RGB;
  std::vector<std::uint8_t> rgb(PNG_IMAGE_SIZE(image));
  REQUIRE(png_image_finish_read(&image, nullptr, rgb.data(), 0, nullptr) != 0);
  const std::uint8_t* second = rgb.data() + 3 * (2 * 8 + 5);
  CHECK(second[0] == 120);
  CHECK(second[1] == 160);
  CHECK(second[2] == 200);

  const Outcome json = Run("peek slurm-17 --json -o " + path);
  CHECK_THAT(json.out, Contains("\"labels\": [\n  \"cat\",\n  \"dog\"\n ]"));
  const Outcome unknown = Run("peek bert -o " + path);
  CHECK(unknown.code == 1);
  CHECK(unknown.err == "forebayctl: there is no such job; there is: resnet\n");
}

TEST_CASE_METHOD(
    ForebayctlTest,
    "The doctor verb of forebayctl passes on the daemon's warnings",
    "[forebayctl]") {
  StartDaemon();
  const Outcome well = Run("doctor");
  CAPTURE(well.out);
  CHECK(well.code == 0);
  warnings_ = {"The index is kept in memory: the disk is full."};
  const Outcome ill = Run("doctor");
  CHECK(ill.code == 1);
  CHECK_THAT(ill.out, Contains("PROBLEM  warning        The index is kept in "
                               "memory: the disk is full.\n"));
  CHECK_THAT(Run("doctor --json").out, Contains("\"healthy\": false"));
}

}  // namespace
}  // namespace forebay::ctl

#ifndef FOREBAY_TESTS_UNIT_TOOLS_FOREBAYCTL_FOREBAYCTL_FIXTURE_H_
#define FOREBAY_TESTS_UNIT_TOOLS_FOREBAYCTL_FOREBAYCTL_FIXTURE_H_

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cuda/fake_driver.h"
#include "proto/version.h"
#include "server/admin/admin_server.h"
#include "server/base/clock.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/admin/fake_control.h"
#include "tests/unit/server/admin/fake_introspection.h"
#include "tests/unit/server/admin/tsan_suppressions.h"

namespace forebay::ctl {

// Runs the program with a daemon that has one job.
class ForebayctlTest {
 protected:
  struct Outcome {
    int code = -1;
    std::string out;
    std::string err;
  };

  ForebayctlTest() {
    char directory[] = "/tmp/forebayctl-test.XXXXXX";
    REQUIRE(mkdtemp(directory) != nullptr);
    directory_ = directory;
    jobs_.SetJobs({admin::ResnetJob()});
    std::ofstream(directory_ + "/tsan") << TsanSuppressions();
  }

  ~ForebayctlTest() {
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
    REQUIRE_THAT(server, tests::IsOk());
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
  std::optional<cache::disk::DiskSnapshot> disk_tier_;
  std::vector<std::string> warnings_;
  admin::FakeIntrospection jobs_;
  admin::FakeControl control_;
  std::unique_ptr<admin::AdminServer> server_;
};

}  // namespace forebay::ctl

#endif  // FOREBAY_TESTS_UNIT_TOOLS_FOREBAYCTL_FOREBAYCTL_FIXTURE_H_

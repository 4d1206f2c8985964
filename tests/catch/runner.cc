#include "tests/catch/runner.h"

#define CATCH_CONFIG_RUNNER
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/junit_file.h"
#include "tests/catch/own_thread.h"
#include "tests/catch/results.h"

namespace forebay::tests {
namespace {

// Returns where results go; a null pointer means nowhere.
std::unique_ptr<JunitFile>& File() {
  static auto* const file = new std::unique_ptr<JunitFile>();
  return *file;
}

void WriteResults(bool last_ended) {
  if (File() != nullptr) File()->Write(Results(), last_ended);
}

// Records the result of each case, one for each path through the case's
// sections.
class Recorder final : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo&) override {
    has_inner_ = false;
  }

  // Catch2 begins each pass of a case with a section of the case's name.
  void sectionStarting(const Catch::SectionInfo& info) override {
    CheckOwnThread(info.lineInfo.file, info.lineInfo.line, "a section");
    if (!InTestsProcess()) {
      std::fprintf(stderr,
                   "%s:%zu: a section in a forked child, which runs it "
                   "at most once\n",
                   info.lineInfo.file, info.lineInfo.line);
      std::abort();
    }
    if (depth_++ == 0) {
      Result& result = Results().emplace_back();
      result.name = info.name;
      result.file = info.lineInfo.file;
      result.line = static_cast<int>(info.lineInfo.line);
      is_inner_ = false;
    } else {
      Results().back().name += ": " + info.name;
      has_inner_ = is_inner_ = true;
    }
    WriteResults(/*last_ended=*/false);
    // The name goes to stderr now, so that a crash or a hang shows which case
    // it is in.
    std::cerr << "runs: " << Results().back().name << std::endl;
  }

  void sectionEnded(const Catch::SectionStats& stats) override {
    if (--depth_ > 0) return;
    if (!InTestsProcess()) {
      std::fprintf(stderr, "%s:%zu: a forked child left its test case\n",
                   stats.sectionInfo.lineInfo.file,
                   stats.sectionInfo.lineInfo.line);
      _exit(1);
    }
    Result& result = Results().back();
    result.seconds = stats.durationInSeconds;
    result.assertions = stats.assertions.total();
    const bool is_plain = result.failures.empty() && result.skip_reason.empty();
    // Catch2 runs a case once more if an exception left the case's last
    // section. If that extra run entered no section and failed nothing, its
    // result is dropped.
    if (has_inner_ && !is_inner_ && is_plain) {
      Results().pop_back();
    } else if (is_plain && result.assertions == 0) {
      result.failures.push_back(result.file + ":" +
                                std::to_string(result.line) +
                                "\nit asserts nothing");
    }
    WriteResults(/*last_ended=*/true);
  }

  void assertionStarting(const Catch::AssertionInfo& info) override {
    CheckOwnThread(info.lineInfo.file, info.lineInfo.line, "an assertion");
  }

  // Catch2 calls assertionStarting for most assertions, but not for all.
  bool assertionEnded(const Catch::AssertionStats& stats) override {
    const Catch::AssertionResult& result = stats.assertionResult;
    const Catch::SourceLineInfo line = result.getSourceInfo();
    CheckOwnThread(line.file, line.line, "an assertion");
    if (result.isOk()) return true;
    std::vector<std::string>& failures = Results().back().failures;
    failures.push_back(Text(stats));
    // Further failures are written when the case ends.
    if (failures.size() == 1 && InTestsProcess())
      WriteResults(/*last_ended=*/false);
    return true;
  }

 private:
  static std::string Text(const Catch::AssertionStats& stats) {
    const Catch::AssertionResult& result = stats.assertionResult;
    std::string text = std::string(result.getSourceInfo().file) + ":" +
                       std::to_string(result.getSourceInfo().line);
    if (result.hasExpression()) text += "\n" + result.getExpressionInMacro();
    if (result.hasExpandedExpression())
      text += "\nis: " + result.getExpandedExpression();
    if (result.hasMessage()) text += "\n" + std::string(result.getMessage());
    for (const Catch::MessageInfo& message : stats.infoMessages) {
      // `infoMessages` also has the text of an exception, which is printed
      // once.
      if (Catch::StringRef(message.message) != result.getMessage())
        text += "\n" + message.message;
    }
    return text;
  }

  int depth_ = 0;
  // Whether any run of the case has entered a section.
  bool has_inner_ = false;
  bool is_inner_ = false;
};

CATCH_REGISTER_LISTENER(Recorder)

// Whether test cases are under way.
bool& Running() {
  static bool running = false;
  return running;
}

// Runs at exit. Fails if a test case caused the exit.
void RefuseExit() {
  if (!Running() || !InTestsProcess()) return;
  std::fprintf(stderr, "a test case ended the program\n");
  _exit(1);
}

// Returns why the tests cannot run as requested, or nothing if they can.
std::optional<std::string> Refusal(Catch::Session& session) {
  const Catch::TestSpec& spec = session.config().testSpec();
  const bool has_names = !session.config().getTestsOrTags().empty();
  if (!spec.getInvalidArgs().empty() || (has_names && !spec.hasFilters()))
    return "the filter of test cases is malformed";
  const char* const shards = std::getenv("TEST_TOTAL_SHARDS");
  if (shards != nullptr && std::string(shards) != "1")
    return "tests do not run in shards: each would run all of them";
  return std::nullopt;
}

// Prints all skips. Returns whether a case has failed.
bool HasFailed() {
  bool has_failed = false;
  for (const Result& result : Results()) {
    has_failed |= !result.failures.empty();
    if (result.failures.empty() && !result.skip_reason.empty())
      std::cerr << "skipped: " << result.name << ": " << result.skip_reason
                << "\n";
  }
  return has_failed;
}

}  // namespace

int RunTests(int argc, char** argv) {
  // Unbuffered output shows all that a program said before it aborted.
  std::cout << std::unitbuf;
  Catch::StringMaker<float>::precision = 9;
  Catch::StringMaker<double>::precision = 17;
  Catch::Session session;
  if (const int error = session.applyCommandLine(argc, argv); error != 0)
    return error;
  if (const char* const only = std::getenv("TESTBRIDGE_TEST_ONLY"))
    session.configData().testsOrTags.emplace_back(only);
  // A filter that no test case matches is a mistake. Then the run fails.
  session.configData().warnings = static_cast<Catch::WarnAbout::What>(
      session.configData().warnings | Catch::WarnAbout::NoTests);
  if (const auto refusal = Refusal(session)) {
    std::cerr << *refusal << "\n";
    return 2;
  }
  const char* const path = std::getenv("XML_OUTPUT_FILE");
  if (path != nullptr) File() = std::make_unique<JunitFile>(path);
  std::atexit(&RefuseExit);
  std::at_quick_exit(&RefuseExit);
  Running() = true;
  int status = session.run();
  Running() = false;
  const bool has_failed = HasFailed();
  if (has_failed && status == 0) status = 1;
  if (status != 0 && !has_failed) {
    Result& program = Results().emplace_back();
    program.name = "the program";
    program.failures.push_back("it ended with " + std::to_string(status));
  }
  WriteResults(/*last_ended=*/true);
  if (path != nullptr && !File()->ok()) {
    std::cerr << path << ": cannot be written\n";
    status = 1;
  }
  return status;
}

}  // namespace forebay::tests

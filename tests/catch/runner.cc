#include "tests/catch/runner.h"

#define CATCH_CONFIG_RUNNER
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>
#include <utility>

#include "tests/catch/catch.h"
#include "tests/catch/results.h"

namespace forebay::tests {
namespace {

// Notes each case's result, apart for each path through its sections.
class Recorder final : public Catch::TestEventListenerBase {
 public:
  using TestEventListenerBase::TestEventListenerBase;

  void testCaseStarting(const Catch::TestCaseInfo&) override {
    has_inner_ = false;
  }

  // Catch2 begins each pass of a case with a section of the case's name.
  void sectionStarting(const Catch::SectionInfo& info) override {
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
    // A program that crashes or hangs has said where.
    std::cerr << "runs: " << Results().back().name << std::endl;
  }

  void sectionEnded(const Catch::SectionStats& stats) override {
    if (--depth_ > 0) return;
    Results().back().seconds = stats.durationInSeconds;
    Results().back().assertions = stats.assertions.total();
    // Catch2 passes once more if an exception left a case's last section.
    if (has_inner_ && !is_inner_ && !HasFailure()) Results().pop_back();
  }

  // Assertions of Catch2 are not thread-safe.
  void assertionStarting(const Catch::AssertionInfo& info) override {
    if (std::this_thread::get_id() == tests_thread_) return;
    std::fprintf(stderr, "%s:%zu: an assertion off the test's own thread\n",
                 info.lineInfo.file, info.lineInfo.line);
    std::abort();
  }

  bool assertionEnded(const Catch::AssertionStats& stats) override {
    const Catch::AssertionResult& result = stats.assertionResult;
    if (!result.isOk()) Results().back().failures.push_back(Text(stats));
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
    for (const Catch::MessageInfo& message : stats.infoMessages)
      text += "\n" + message.message;
    return text;
  }

  const std::thread::id tests_thread_ = std::this_thread::get_id();
  int depth_ = 0;
  // Whether a pass of the case, or the present one, has entered a section.
  bool has_inner_ = false;
  bool is_inner_ = false;
};

CATCH_REGISTER_LISTENER(Recorder)

void PrintSkipped() {
  for (const Result& result : Results()) {
    if (!result.skip_reason.empty())
      std::cout << "skipped: " << result.name << ": " << result.skip_reason
                << "\n";
  }
}

}  // namespace

int RunTests(int argc, char** argv) {
  // A program that aborts has said why.
  std::cout << std::unitbuf;
  Catch::Session session;
  if (const int error = session.applyCommandLine(argc, argv); error != 0)
    return error;
  if (const char* const only = std::getenv("TESTBRIDGE_TEST_ONLY")) {
    session.configData().testsOrTags.emplace_back(only);
  }
  // A filter that no test matches is a mistake.
  session.configData().warnings = static_cast<Catch::WarnAbout::What>(
      session.configData().warnings | Catch::WarnAbout::NoTests);
  int status = session.run();
  PrintSkipped();
  const char* const path = std::getenv("XML_OUTPUT_FILE");
  if (path != nullptr && !WriteJunit(path, Results())) {
    std::cerr << path << ": cannot be written\n";
    status = 1;
  }
  return status;
}

}  // namespace forebay::tests

// Tests that a run fails if it ended before its assertions did.
#include "tests/catch/runner.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <string>

#include "tests/catch/catch.h"
#include "tests/catch/child.h"
#include "tests/catch/matchers.h"
#include "tests/catch/suite.h"
#include "tests/catch/temp_dir.h"

namespace forebay::tests {
namespace {

constexpr char kProgram[] = "tests/unit/tests/catch/misbehaving_cases";
// The shell runs the program and turns its success into status 77. RunInChild
// would fail a child that ends with 0 by itself.
constexpr char kShell[] =
    "\"$0\"; status=$?; [ $status != 0 ] || status=77; exit $status";
constexpr int kPassed = 77;
constexpr int kAborted = 128 + SIGABRT;

class RunnerTest {
 protected:
  // Runs the cases that a filter chooses.
  ChildEnd Run(const std::string& filter, const std::string& shards = "1") {
    return RunInChild([&] {
      setenv("XML_OUTPUT_FILE", xml_path_.c_str(), 1);
      setenv("TESTBRIDGE_TEST_ONLY", filter.c_str(), 1);
      setenv("TEST_TOTAL_SHARDS", shards.c_str(), 1);
      execl("/bin/sh", "sh", "-c", kShell, kProgram,
            static_cast<char*>(nullptr));
      FAIL("the program does not run");
    });
  }
  std::string Xml() const {
    std::ifstream file(xml_path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  const std::string xml_path_ = TempDir() + "results.xml";
};

bool EndedWith(const ChildEnd& end, int status) {
  return WIFEXITED(end.status) && WEXITSTATUS(end.status) == status;
}

TEST_CASE_METHOD(RunnerTest, "A test case cannot end the program as passed",
                 "[catch][runner]") {
  CHECK(EndedWith(Run("[exit]"), 1));
  CHECK_THAT(Xml(), Contains("1 == 2"));
  CHECK_THAT(Xml(), Contains("the program ended within this test case"));
  CHECK(EndedWith(Run("[quick_exit]"), 1));
  CHECK_THAT(Xml(), Contains("the program ended within this test case"));
}

// Only the results file shows that a case ended this way.
TEST_CASE_METHOD(RunnerTest, "A test case that leaves at once has failed",
                 "[catch][runner]") {
  CHECK(EndedWith(Run("[at_once]"), kPassed));
  CHECK_THAT(Xml(), Contains("the program ended within this test case"));
}

TEST_CASE_METHOD(RunnerTest,
                 "A crash leaves the results of the cases before it",
                 "[catch][runner]") {
  CHECK(EndedWith(Run("[crash]"), kAborted));
  CHECK_THAT(Xml(),
             MatchesRegex("[^]*<testcase name=\"Ends as it should\"[^>]*>"
                          "\\s*</testcase>[^]*"));
  CHECK_THAT(Xml(), MatchesRegex("[^]*<testcase name=\"Is killed\"[^>]*>\\s*"
                                 "<failure[^]*"));
}

TEST_CASE_METHOD(RunnerTest,
                 "A test case or section that asserts nothing fails",
                 "[catch][runner]") {
  CHECK(EndedWith(Run("[nothing]"), 1));
  CHECK_THAT(Xml(), Contains("it asserts nothing"));
  CHECK(EndedWith(Run("[empty_section]"), 1));
  CHECK_THAT(Xml(), MatchesRegex("[^]*that does not\"[^>]*>\\s*<failure[^]*"));
}

TEST_CASE_METHOD(RunnerTest, "A skip without a reason fails",
                 "[catch][runner]") {
  CHECK(EndedWith(Run("[skip]"), 1));
  CHECK_THAT(Xml(), Contains("a SKIP without a reason"));
}

TEST_CASE_METHOD(RunnerTest, "An assertion on another thread ends the program",
                 "[catch][runner]") {
  const ChildEnd end = Run("[thread]");
  CHECK(EndedWith(end, kAborted));
  CHECK_THAT(end.err, Contains("off the test's own thread"));
}

TEST_CASE_METHOD(RunnerTest, "A forked child runs no test case but its own",
                 "[catch][runner]") {
  const ChildEnd left = Run("[child]");
  CHECK(EndedWith(left, 1));
  CHECK_THAT(left.err, Contains("a forked child left its test case"));
  CHECK(EndedWith(Run("[child_sections]"), 1));
  CHECK(EndedWith(Run("[child_exit]"), 1));
  CHECK_THAT(Xml(), Contains("the child ended by itself"));
}

TEST_CASE_METHOD(RunnerTest,
                 "Tests run in no shards and by no malformed filter",
                 "[catch][runner]") {
  CHECK(EndedWith(Run("[exit]", "3"), 2));
  for (const char* const filter :
       {"[a,b]", "\"A, b\"", "[,]", "[", "\"", ","}) {
    CAPTURE(filter);
    CHECK(EndedWith(Run(filter), 2));
  }
  CHECK(EndedWith(Run("No case of this name"), 2));
  // The filter has two names, and only the first is a test case's.
  CHECK(EndedWith(Run("Ends as it should,No case of this name"), 2));
  CHECK_THAT(Xml(), Contains("it ended with 2"));
}

struct DoubledSuite {
  using Subject = int;
};

TEST_CASE("Two subjects of a suite cannot have one name", "[catch][suite]") {
  const ChildEnd end = RunInChild([] {
    const RunsOn<DoubledSuite> doubled({{"one", 1}, {"one", 2}});
  });
  CHECK(WIFSIGNALED(end.status));
  CHECK(WTERMSIG(end.status) == SIGABRT);
  CHECK_THAT(end.err, Contains("two subjects of a suite are \"one\""));
}

}  // namespace
}  // namespace forebay::tests

#ifndef FOREBAY_TESTS_CATCH_RUNNER_H_
#define FOREBAY_TESTS_CATCH_RUNNER_H_

namespace forebay::tests {

// Runs the tests that are linked into the program, as Bazel expects of a test.
// TESTBRIDGE_TEST_ONLY selects tests, and the results go to the file
// XML_OUTPUT_FILE. Returns the program's exit status.
int RunTests(int argc, char** argv);

}  // namespace forebay::tests

#endif  // FOREBAY_TESTS_CATCH_RUNNER_H_

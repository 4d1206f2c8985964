#ifndef FOREBAY_TESTS_CATCH_JUNIT_FILE_H_
#define FOREBAY_TESTS_CATCH_JUNIT_FILE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "tests/catch/results.h"

namespace forebay::tests {

// Results as JUnit's XML. The file is complete XML at any time: if the program
// ends before its tests do, the file has the unfinished case as failed.
//
// Used by one thread. Owns the file's descriptor, which forked children do not
// write to. Writes block as the file system does. Errors: see ok().
class JunitFile {
 public:
  // Creates the file. Until the first Write, it says that no test case has
  // begun.
  explicit JunitFile(const std::string& path);
  ~JunitFile();
  JunitFile(const JunitFile&) = delete;
  JunitFile& operator=(const JunitFile&) = delete;

  // Writes the results of `results` that the file does not yet have as final.
  // If `last_ended` is false, the last case is still running, and the file has
  // it as failed until the next Write.
  void Write(const std::vector<Result>& results, bool last_ended);

  // Whether all writes to the file succeeded.
  bool ok() const { return ok_; }

 private:
  // Replaces what follows the first `final_bytes_` bytes of the file.
  void WriteEnd(const std::string& text);

  const int fd_;
  bool ok_;
  std::size_t final_bytes_ = 0;    // bytes of final results
  std::size_t final_results_ = 0;  // number of results in these bytes
};

}  // namespace forebay::tests

#endif  // FOREBAY_TESTS_CATCH_JUNIT_FILE_H_

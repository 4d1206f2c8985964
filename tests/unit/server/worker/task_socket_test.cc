#include "server/worker/task_socket.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "server/base/fd.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/worker/fake_worker_pool.h"

namespace forebay::worker {
namespace {

using tests::HasCode;
using tests::IsOk;

class TaskSocketTest {
 protected:
  TaskSocketTest() : pair_(*TaskSocket::Create()) {}

  absl::StatusOr<TaskAnswer> AwaitAfter(const std::string& said) {
    CHECK(send(pair_.theirs.get(), said.data(), said.size(), 0) ==
          static_cast<ssize_t>(said.size()));
    return pair_.ours.Await(1000);
  }

  TaskSocket::Pair pair_;
};

TEST_CASE_METHOD(TaskSocketTest, "A task socket reads answers",
                 "[worker][task_socket]") {
  const auto plain = AwaitAfter(AnswerOf());
  REQUIRE_THAT(plain, IsOk());
  CHECK(plain->cpu_nanos == 7);
  CHECK(plain->failures.empty());
  const auto failed = AwaitAfter(AnswerOf("why"));
  REQUIRE_THAT(failed, IsOk());
  REQUIRE(failed->failures.size() == 1);
  CHECK(failed->failures[0].text == "why");
}

TEST_CASE_METHOD(TaskSocketTest, "A task socket knows the process that answers",
                 "[worker][task_socket]") {
  CHECK(pair_.ours.CpuNanos() == -1);
  REQUIRE_THAT(AwaitAfter(AnswerOf()), IsOk());
  CHECK(pair_.ours.CpuNanos() > 0);
}

TEST_CASE_METHOD(
    TaskSocketTest,
    "A task socket keeps one of the descriptors that come with an answer",
    "[worker][task_socket]") {
  const auto await_with = [this](const std::vector<int>& fds) {
    std::string said = AnswerOf();
    struct iovec data = {.iov_base = said.data(), .iov_len = said.size()};
    alignas(struct cmsghdr) char control[CMSG_SPACE(4 * sizeof(int))] = {};
    struct msghdr message = {};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    struct cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
    CHECK(sendmsg(pair_.theirs.get(), &message, 0) > 0);
    return pair_.ours.Await(1000);
  };
  CHECK_FALSE(AwaitAfter(AnswerOf())->fd);
  const auto lowest_free = [] { return base::Fd(dup(STDERR_FILENO)).get(); };
  const int before = lowest_free();
  for (const std::size_t count : {1, 2, 4}) {
    const auto answer = await_with(std::vector<int>(count, STDERR_FILENO));
    REQUIRE_THAT(answer, IsOk());
    CHECK(answer->fd);
    CHECK(answer->sender == getpid());
    CHECK(answer->fd.get() == before);
    UNSCOPED_INFO("all others are closed");
    CHECK(lowest_free() == before + 1);
  }
  CHECK(lowest_free() == before);
}

TEST_CASE_METHOD(TaskSocketTest,
                 "A task socket waits no longer than it is told",
                 "[worker][task_socket]") {
  CHECK_THAT(pair_.ours.Await(1), HasCode(absl::StatusCode::kDeadlineExceeded));
}

TEST_CASE_METHOD(TaskSocketTest, "A task socket says that the process is gone",
                 "[worker][task_socket]") {
  pair_.theirs.Close();
  CHECK_THAT(pair_.ours.Await(1000), HasCode(absl::StatusCode::kUnavailable));
  CHECK_THAT(pair_.ours.Ask({}, {}, -1),
             HasCode(absl::StatusCode::kUnavailable));
}

TEST_CASE_METHOD(TaskSocketTest,
                 "A task socket knows whether its task may have begun",
                 "[worker][task_socket]") {
  REQUIRE_THAT(pair_.ours.Ask({}, {}, -1), IsOk());
  CHECK_FALSE(pair_.ours.IsReadable());
  proto::WorkerTask task;
  REQUIRE(recv(pair_.theirs.get(), &task, sizeof(task), 0) > 0);
  pair_.theirs.Close();
  CHECK(pair_.ours.IsReadable());
  CHECK_THAT(pair_.ours.Await(1000), HasCode(absl::StatusCode::kUnavailable));
  UNSCOPED_INFO("the process took it");
  CHECK(pair_.ours.may_have_begun());
  CHECK_THAT(pair_.ours.Ask({}, {}, -1),
             HasCode(absl::StatusCode::kUnavailable));
  UNSCOPED_INFO("it could not be sent");
  CHECK_FALSE(pair_.ours.may_have_begun());

  TaskSocket::Pair other = *TaskSocket::Create();
  REQUIRE_THAT(other.ours.Ask({}, {}, -1), IsOk());
  other.theirs.Close();
  CHECK_THAT(other.ours.Await(1000), HasCode(absl::StatusCode::kUnavailable));
  UNSCOPED_INFO("the process did not take it");
  CHECK_FALSE(other.ours.may_have_begun());
}

TEST_CASE_METHOD(TaskSocketTest,
                 "A task socket ends a process that cannot be asked",
                 "[worker][task_socket]") {
  while (pair_.ours.Ask({}, {}, -1).ok()) {
  }
  CHECK_THAT(pair_.ours.Await(0), HasCode(absl::StatusCode::kUnavailable));
}

TEST_CASE_METHOD(
    TaskSocketTest,
    "A task socket takes no early answer for that to the next task",
    "[worker][task_socket]") {
  const std::string said = AnswerOf();
  REQUIRE_THAT(AwaitAfter(said), IsOk());
  REQUIRE(send(pair_.theirs.get(), said.data(), said.size(), 0) > 0);
  CHECK_THAT(pair_.ours.Ask({}, {}, -1),
             HasCode(absl::StatusCode::kUnavailable));
  char byte;
  UNSCOPED_INFO("told to end");
  CHECK(recv(pair_.theirs.get(), &byte, 1, 0) == 0);
}

TEST_CASE_METHOD(TaskSocketTest, "A task socket refuses what is not an answer",
                 "[worker][task_socket]") {
  const std::string whole = AnswerOf("because");
  for (std::size_t length = 1; length < whole.size(); ++length) {
    CAPTURE(length);
    CHECK_THAT(AwaitAfter(whole.substr(0, length)),
               HasCode(absl::StatusCode::kInvalidArgument));
  }
  CHECK_THAT(AwaitAfter(whole + "x"),
             HasCode(absl::StatusCode::kInvalidArgument));
  std::string endless = AnswerOf();
  const std::uint64_t nanos = UINT64_MAX;
  std::memcpy(endless.data(), &nanos, sizeof(nanos));
  CHECK_THAT(AwaitAfter(endless), HasCode(absl::StatusCode::kInvalidArgument));
  std::string many = AnswerOf();
  const std::uint32_t absurd = UINT32_MAX;
  std::memcpy(many.data() + 8, &absurd, sizeof(absurd));
  CHECK_THAT(AwaitAfter(many), HasCode(absl::StatusCode::kInvalidArgument));
}

TEST_CASE_METHOD(TaskSocketTest,
                 "A task socket survives garbage from a process",
                 "[worker][task_socket]") {
  const std::uint32_t seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 2000; ++i) {
    std::string said = AnswerOf("because");
    for (int n = 0; n < 3; ++n)
      said[random() % said.size()] = static_cast<char>(random());
    AwaitAfter(said).status().IgnoreError();
  }
}

}  // namespace
}  // namespace forebay::worker

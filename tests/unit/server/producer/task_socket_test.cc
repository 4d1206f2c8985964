#include "server/producer/task_socket.h"

#include <gtest/gtest.h>
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
#include "tests/unit/server/producer/fake_host.h"

namespace forebay::producer {
namespace {

class TaskSocketTest : public testing::Test {
 protected:
  TaskSocketTest() : pair_(*TaskSocket::Create()) {}

  absl::StatusOr<Answer> AwaitAfter(const std::string& said) {
    EXPECT_EQ(send(pair_.theirs.get(), said.data(), said.size(), 0),
              static_cast<ssize_t>(said.size()));
    return pair_.ours.Await(1000);
  }

  TaskSocket::Pair pair_;
};

TEST_F(TaskSocketTest, ReadsAnswers) {
  const auto plain = AwaitAfter(AnswerOf());
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->cpu_nanos, 7);
  EXPECT_TRUE(plain->failures.empty());
  const auto failed = AwaitAfter(AnswerOf("why"));
  ASSERT_TRUE(failed.ok());
  ASSERT_EQ(failed->failures.size(), 1);
  EXPECT_EQ(failed->failures[0].text, "why");
}

TEST_F(TaskSocketTest, KnowsTheProcessThatAnswers) {
  EXPECT_EQ(pair_.ours.CpuNanos(), -1);
  ASSERT_TRUE(AwaitAfter(AnswerOf()).ok());
  EXPECT_GT(pair_.ours.CpuNanos(), 0);
}

TEST_F(TaskSocketTest, KeepsOneOfTheDescriptorsThatComeWithAnAnswer) {
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
    EXPECT_GT(sendmsg(pair_.theirs.get(), &message, 0), 0);
    return pair_.ours.Await(1000);
  };
  EXPECT_FALSE(AwaitAfter(AnswerOf())->fd);
  const auto lowest_free = [] { return base::Fd(dup(STDERR_FILENO)).get(); };
  const int before = lowest_free();
  for (const std::size_t count : {1, 2, 4}) {
    const auto answer = await_with(std::vector<int>(count, STDERR_FILENO));
    ASSERT_TRUE(answer.ok()) << answer.status();
    EXPECT_TRUE(answer->fd);
    EXPECT_EQ(answer->sender, getpid());
    EXPECT_EQ(answer->fd.get(), before);
    EXPECT_EQ(lowest_free(), before + 1) << "all others are closed";
  }
  EXPECT_EQ(lowest_free(), before);
}

TEST_F(TaskSocketTest, WaitsNoLongerThanItIsTold) {
  EXPECT_TRUE(absl::IsDeadlineExceeded(pair_.ours.Await(1).status()));
}

TEST_F(TaskSocketTest, SaysThatTheProcessIsGone) {
  pair_.theirs.Close();
  EXPECT_TRUE(absl::IsUnavailable(pair_.ours.Await(1000).status()));
  EXPECT_TRUE(absl::IsUnavailable(pair_.ours.Ask({}, {}, -1)));
}

TEST_F(TaskSocketTest, KnowsWhetherItsTaskMayHaveBegun) {
  ASSERT_TRUE(pair_.ours.Ask({}, {}, -1).ok());
  EXPECT_FALSE(pair_.ours.IsReadable());
  proto::ProducerTask task;
  ASSERT_GT(recv(pair_.theirs.get(), &task, sizeof(task), 0), 0);
  pair_.theirs.Close();
  EXPECT_TRUE(pair_.ours.IsReadable());
  EXPECT_TRUE(absl::IsUnavailable(pair_.ours.Await(1000).status()));
  EXPECT_TRUE(pair_.ours.may_have_begun()) << "the process took it";
  EXPECT_TRUE(absl::IsUnavailable(pair_.ours.Ask({}, {}, -1)));
  EXPECT_FALSE(pair_.ours.may_have_begun()) << "it could not be sent";

  TaskSocket::Pair other = *TaskSocket::Create();
  ASSERT_TRUE(other.ours.Ask({}, {}, -1).ok());
  other.theirs.Close();
  EXPECT_TRUE(absl::IsUnavailable(other.ours.Await(1000).status()));
  EXPECT_FALSE(other.ours.may_have_begun()) << "the process did not take it";
}

TEST_F(TaskSocketTest, EndsAProcessThatCannotBeAsked) {
  while (pair_.ours.Ask({}, {}, -1).ok()) {
  }
  EXPECT_TRUE(absl::IsUnavailable(pair_.ours.Await(0).status()));
}

TEST_F(TaskSocketTest, TakesNoAnswerForThatToTheNextTask) {
  const std::string said = AnswerOf();
  ASSERT_TRUE(AwaitAfter(said).ok());
  ASSERT_GT(send(pair_.theirs.get(), said.data(), said.size(), 0), 0);
  EXPECT_TRUE(absl::IsUnavailable(pair_.ours.Ask({}, {}, -1)));
  char byte;
  EXPECT_EQ(recv(pair_.theirs.get(), &byte, 1, 0), 0) << "told to end";
}

TEST_F(TaskSocketTest, RefusesWhatIsNoAnswer) {
  const std::string whole = AnswerOf("because");
  for (std::size_t length = 1; length < whole.size(); ++length) {
    EXPECT_TRUE(
        absl::IsInvalidArgument(AwaitAfter(whole.substr(0, length)).status()))
        << length;
  }
  EXPECT_TRUE(absl::IsInvalidArgument(AwaitAfter(whole + "x").status()));
  std::string endless = AnswerOf();
  const std::uint64_t nanos = UINT64_MAX;
  std::memcpy(endless.data(), &nanos, sizeof(nanos));
  EXPECT_TRUE(absl::IsInvalidArgument(AwaitAfter(endless).status()));
  std::string many = AnswerOf();
  const std::uint32_t absurd = UINT32_MAX;
  std::memcpy(many.data() + 8, &absurd, sizeof(absurd));
  EXPECT_TRUE(absl::IsInvalidArgument(AwaitAfter(many).status()));
}

TEST_F(TaskSocketTest, SurvivesGarbage) {
  const std::uint32_t seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 2000; ++i) {
    std::string said = AnswerOf("because");
    for (int n = 0; n < 3; ++n)
      said[random() % said.size()] = static_cast<char>(random());
    AwaitAfter(said).status().IgnoreError();
  }
}

}  // namespace
}  // namespace forebay::producer

// Agents as OS processes that behave badly, over the whole stack: what becomes of their task, and is the node well,
// with no OS process and no descriptor left, afterwards. And those under examples/agents, which behave well.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "sim/bad_agents.hpp"
#include "sim/stdio_programs.hpp"
#include "skein/base/test_files.hpp"
#include "skein/launcher/proc_tree.hpp"
#include "skein/runtime/testing.hpp"

namespace skein::sim {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// Before any thread of any test.
const launcher::Launcher& k_forked_early = launcher::Launcher::fork_early();

TEST_F(BadAgents, sigkill_in_the_middle_of_a_task_lets_it_finish_on_another_agent_at_once) {
  start("bad", "for task in tasks(): time.sleep(100)\n");
  ASSERT_TRUE(host_->wait_connected("bad"));
  const auto id = submit();
  ASSERT_TRUE(eventually([&] { return host_->status(id).task.state == State::executing; }));
  const auto victims = host_->os_processes();
  ASSERT_EQ(victims.size(), 1U);
  start_good("good");
  const auto killed_at = std::chrono::steady_clock::now();
  ASSERT_EQ(::kill(victims.front(), SIGKILL), 0);
  const auto status = host_->wait(id);
  const auto took = std::chrono::steady_clock::now() - killed_at;
  expect_done_by_good(status);
  EXPECT_EQ(status.task.attempts, 1U) << "a crash costs an attempt";
  EXPECT_LT(took, 1s * tests::k_patience);
  EXPECT_TRUE(has_crashed_with("SIGKILL (9)"));
}

TEST_F(BadAgents, a_command_that_is_killed_costs_an_attempt_and_goes_to_another_agent) {
  start_command("bad", "sleep 100");
  ASSERT_TRUE(host_->wait_connected("bad"));
  const auto id = submit();
  ASSERT_TRUE(eventually([&] { return !host_->os_processes().empty(); }));
  const auto victims = host_->os_processes();
  start_good("good");
  ASSERT_EQ(::kill(victims.front(), SIGKILL), 0);
  const auto status = host_->wait(id);
  expect_done_by_good(status);
  EXPECT_EQ(status.task.attempts, 1U);
}

TEST_F(BadAgents, flooding_stdout_is_slowed_down_and_harms_nobody) {
  OsExecutorOptions options;
  options.output_per_beat = 4ULL << 20U;
  start("bad", R"(
for task in tasks():
    line = (json.dumps({"type": "progress", "task": task["task"], "mark": "x" * 1000}) + "\n").encode() * 100
    try:
        while True: raw(line)
    except BrokenPipeError:
        pass
)",
        options);
  const auto id = [&] {
    EXPECT_TRUE(host_->wait_connected("bad"));
    return submit(2s, 1);
  }();
  ASSERT_TRUE(eventually([&] { return host_->status(id).task.state == State::executing; }));
  EXPECT_TRUE(host_->is_healthy()) << "while it floods";
  const auto status = host_->wait(id);
  ASSERT_EQ(status.task.state, State::failed);
  EXPECT_EQ(status.task.history->front().error, ledger::ErrorClass::timeout);
}

TEST_F(BadAgents, flooding_with_what_is_no_message_is_a_crash) {
  start("bad", "for task in tasks():\n    while True: raw(b'y\\n' * 10000)\n");
  expect_done_by_good(bad_then_good());
  EXPECT_TRUE(has_crashed_with("breaks the protocol"));
}

TEST_F(BadAgents, one_that_never_reads_stdin_times_out_and_is_replaced) {
  OsExecutorOptions options;
  options.term_after = 100ms;
  start("bad", "send(type='hello', protocol=1)\ntime.sleep(1000)\n", options);
  ASSERT_TRUE(host_->wait_connected("bad"));
  const Pid before = host_->agent("bad");
  const auto id = submit(300ms, 1);
  const auto status = host_->wait(id);
  ASSERT_EQ(status.task.state, State::failed);
  EXPECT_EQ(status.task.history->front().error, ledger::ErrorClass::timeout);
  EXPECT_TRUE(eventually([&] { return is_idle("bad"); }));
  EXPECT_EQ(host_->agent("bad"), before) << "what was stopped on purpose is no crash of the agent";
}

TEST_F(BadAgents, half_a_line_and_then_nothing_times_out_and_the_next_attempt_succeeds_elsewhere) {
  OsExecutorOptions options;
  options.term_after = 100ms;
  start("bad", "for task in tasks():\n    raw(b'{\"type\":\"res')\n    time.sleep(1000)\n", options);
  expect_done_by_good(bad_then_good(400ms));
}

TEST_F(BadAgents, a_grandchild_that_would_outlive_its_agent_is_killed_with_it) {
  start("bad", R"(
for task in tasks():
    subprocess.Popen(["setsid", "sleep", "1000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    time.sleep(0.2)
    os._exit(3)
)");
  expect_done_by_good(bad_then_good());
  EXPECT_TRUE(has_crashed_with("exit code 3"));
}

TEST_F(BadAgents, a_command_whose_grandchild_holds_stdout_open_still_ends) {
  start_command("bad", "setsid sleep 1000 & echo 7");
  ASSERT_TRUE(host_->wait_connected("bad"));
  const auto status = host_->wait(submit());
  ASSERT_EQ(status.task.state, State::completed);
  EXPECT_EQ(ledger::view_of(status.finished->result), "7");
}

TEST_F(BadAgents, one_that_ignores_sigterm_is_killed) {
  OsExecutorOptions options;
  options.term_after = 50ms;
  options.kill_after = 100ms;
  start("bad", "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nfor task in tasks(): time.sleep(1000)\n", options);
  ASSERT_TRUE(host_->wait_connected("bad"));
  const auto id = submit();
  ASSERT_TRUE(eventually([&] { return host_->status(id).task.state == State::executing; }));
  const auto before = host_->os_processes();
  host_->cancel(id);
  EXPECT_EQ(host_->wait(id).task.state, State::cancelled);
  EXPECT_TRUE(eventually([&] { return ::kill(before.front(), 0) != 0; })) << "it lives on";
  EXPECT_TRUE(eventually([&] { return is_idle("bad"); }));
}

TEST_F(BadAgents, one_that_says_cancelled_without_being_asked_spends_its_attempts) {
  start("bad", R"(
for task in tasks(): send(type="error", task=task["task"], fence=task["fence"], **{"class": "cancelled"})
)");
  ASSERT_TRUE(host_->wait_connected("bad"));
  const auto status = host_->wait(submit({}, 2));
  ASSERT_EQ(status.task.state, State::failed);
  EXPECT_EQ(status.task.attempts, 2U);
}

TEST_F(BadAgents, one_that_is_stopped_gracefully_has_time_to_clean_up) {
  start("good", R"(
for task in tasks(): done(task)
time.sleep(0.2)
open("cleaned", "w").close()
)");
  ASSERT_TRUE(host_->wait_connected("good"));
  host_->stop_agent("good");
  EXPECT_TRUE(std::filesystem::exists(host_->folder() + "/cleaned")) << "it was killed while it cleaned up";
  EXPECT_TRUE(host_->os_processes().empty());
}

TEST_F(BadAgents, one_that_is_stopped_in_the_middle_of_a_task_ends_before_another_gets_it) {
  start("bad", R"(
for task in tasks():
    open("begun", "w").close()
    time.sleep(0.3)
    open("ended", "w").close()
)");
  ASSERT_TRUE(host_->wait_connected("bad"));
  const auto id = submit({}, 1);
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(host_->folder() + "/begun"); }));
  start("good", "for task in tasks(): done(task, os.path.exists('ended'))\n");
  ASSERT_TRUE(host_->wait_connected("good"));
  host_->stop_agent("bad");
  const auto status = host_->wait(id);
  ASSERT_EQ(status.task.state, State::completed) << (status.finished ? status.finished->message : "not finished");
  EXPECT_EQ(ledger::view_of(status.finished->result), "true");
  EXPECT_EQ(status.task.attempts, 0U) << "being handed back costs nothing";
}

TEST_F(BadAgents, one_that_does_not_end_when_it_is_asked_gets_sigterm_and_then_sigkill) {
  start("bad", R"(
def terminate(*_):
    open("asked by SIGTERM", "w").close()
signal.signal(signal.SIGTERM, terminate)
subprocess.Popen(["setsid", "sleep", "1000"])
for task in tasks(): pass
while True: time.sleep(1)
)");
  ASSERT_TRUE(host_->wait_connected("bad"));
  const auto began = std::chrono::steady_clock::now();
  host_->stop_agent("bad");
  const auto took = std::chrono::steady_clock::now() - began;
  EXPECT_TRUE(std::filesystem::exists(host_->folder() + "/asked by SIGTERM"));
  EXPECT_GE(took, 1500ms) << "it did not get its time";
  EXPECT_LT(took, 2s * tests::k_patience) << "its supervisor waited too long";
  EXPECT_TRUE(eventually([&] { return host_->os_processes().empty(); }));
}

TEST_F(BadAgents, a_command_that_is_stopped_with_its_agent_gets_sigterm_and_its_task_is_returned) {
  start_command("bad", "trap ': > cleaned; exit 1' TERM; : > begun; while :; do sleep 0.05; done");
  ASSERT_TRUE(host_->wait_connected("bad"));
  const auto id = submit({}, 1);
  ASSERT_TRUE(eventually([&] { return std::filesystem::exists(host_->folder() + "/begun"); }));
  host_->stop_agent("bad");
  EXPECT_TRUE(std::filesystem::exists(host_->folder() + "/cleaned"));
  start_good("good");
  expect_done_by_good(host_->wait(id));
}

TEST_F(BadAgents, one_that_is_stopped_before_it_is_known_to_have_started_has_its_time_too) {
  // Leaves an idle keeper behind, in whose mail the next start can be held up.
  start_command("first", "true");
  ASSERT_TRUE(host_->wait_connected("first"));
  ASSERT_EQ(host_->wait(submit()).task.state, State::completed);
  host_->stop_agent("first");
  const auto keepers = launcher::descendants(launcher::scan_processes(), host_->counts().launcher, {});
  ASSERT_EQ(keepers.size(), 1U);
  ASSERT_EQ(::kill(keepers.front().pid, SIGSTOP), 0);
  OsExecutorOptions options;
  options.command = {"/bin/sh", "-c", "read -r hello; read -r shutdown; echo \"$hello $shutdown\" > heard"};
  host_->start_agent("bad", Kind::stdio, "work", options);
  const Pid agent = host_->agent("bad");
  std::thread stopping([&] { host_->stop_agent("bad"); });
  const bool is_terminating = eventually([&] {
    const auto info = host_->runtime().info(agent);
    return info && info->state == ProcessState::terminating;
  });
  ASSERT_EQ(::kill(keepers.front().pid, SIGCONT), 0);
  stopping.join();
  EXPECT_TRUE(is_terminating);
  std::ifstream file(host_->folder() + "/heard");
  const std::string heard{std::istreambuf_iterator<char>(file), {}};
  EXPECT_THAT(heard, HasSubstr(R"("type":"hello")")) << "it was killed before it could end in order";
  EXPECT_THAT(heard, HasSubstr(R"("type":"shutdown")"));
}

TEST_F(BadAgents, exit_code_0_without_a_result_is_a_crash_of_a_stdio_agent) {
  start("bad", "for task in tasks(): os._exit(0)\n");
  const auto status = bad_then_good();
  expect_done_by_good(status);
  EXPECT_TRUE(has_crashed_with("exit code 0"));
}

TEST_F(BadAgents, exit_code_0_without_output_completes_a_command_without_a_result) {
  start_command("bad", "true");
  ASSERT_TRUE(host_->wait_connected("bad"));
  const auto status = host_->wait(submit());
  ASSERT_EQ(status.task.state, State::completed);
  EXPECT_EQ(ledger::view_of(status.finished->result), "");
}

TEST_F(BadAgents, closing_stdout_is_a_crash) {
  start("bad", "for task in tasks(): os.close(1); time.sleep(3600)\n");
  expect_done_by_good(bad_then_good());
  EXPECT_TRUE(has_crashed_with("it closed its standard output"));
}

TEST_F(BadAgents, answering_a_task_it_was_not_given_is_a_crash) {
  start("bad", R"(
for task in tasks():
    send(type="result", task="01900000-0000-7000-8000-000000000099", result=1)
    time.sleep(1000)
)");
  expect_done_by_good(bad_then_good());
  EXPECT_TRUE(has_crashed_with("which it was not given"));
}

TEST_F(BadAgents, invalid_utf8_is_a_crash) {
  start("bad", R"(
for task in tasks():
    raw(b'{"type":"result","task":"' + task["task"].encode() + b'","result":"\xff"}\n')
    time.sleep(1000)
)");
  expect_done_by_good(bad_then_good());
  EXPECT_TRUE(has_crashed_with("no JSON"));
}

TEST_F(BadAgents, a_line_of_100_megabytes_is_cut_off_early) {
  start("bad", R"(
for task in tasks():
    try:
        for i in range(100): raw(b"x" * 1000000)
    except BrokenPipeError:
        pass
    time.sleep(1000)
)");
  expect_done_by_good(bad_then_good());
  EXPECT_TRUE(has_crashed_with("a line of more than 1048576 bytes"));
}

TEST_F(BadAgents, deep_json_is_a_crash) {
  start("bad", R"(
for task in tasks():
    raw(b'{"type":"result","task":"' + task["task"].encode() + b'","result":' + b"[" * 1000 + b"]" * 1000 + b"}\n")
    time.sleep(1000)
)");
  expect_done_by_good(bad_then_good());
  EXPECT_TRUE(has_crashed_with("breaks the protocol"));
}

TEST_F(BadAgents, no_hello_in_time_is_a_crash) {
  OsExecutorOptions options;
  options.hello_timeout = 200ms;
  start("bad", "time.sleep(1000)\n", options);
  EXPECT_TRUE(has_crashed_with("it has not said hello within 200 ms; does it flush"));
}

TEST_F(BadAgents, a_hello_of_another_protocol_is_a_crash) {
  start("bad", "send(type='hello', protocol=2)\ntime.sleep(1000)\n");
  EXPECT_TRUE(has_crashed_with("it speaks protocol 2, this node speaks 1"));
}

TEST_F(BadAgents, a_stdio_program_that_is_not_there_is_a_crash) {
  OsExecutorOptions options;
  options.command = {"/no/such/program"};
  host_->start_agent("bad", Kind::stdio, "work", options);
  agents_.push_back("bad");
  EXPECT_TRUE(has_crashed_with("cannot start '/no/such/program'"));
}

TEST_F(BadAgents, one_that_falls_silent_is_killed_when_a_heartbeat_is_wanted) {
  OsExecutorOptions options;
  options.heartbeat_timeout = 300ms;
  start("bad", "for task in tasks(): time.sleep(1000)\n", options);
  expect_done_by_good(bad_then_good());
  EXPECT_TRUE(has_crashed_with("heartbeat_timeout"));
}

TEST_F(BadAgents, a_command_fails_by_its_exit_code_and_says_why) {
  start_command("bad", "echo 'no such thing' >&2; exit 65");
  ASSERT_TRUE(host_->wait_connected("bad"));
  const auto status = host_->wait(submit());
  ASSERT_EQ(status.task.state, State::failed);
  EXPECT_EQ(status.finished->ending, ledger::Ending::permanent_error);
  EXPECT_EQ(status.finished->message, "exit code 65: no such thing");
}

TEST_F(BadAgents, a_command_whose_output_is_no_json_or_too_much_fails_for_good) {
  start_command("bad", "echo some text");
  ASSERT_TRUE(host_->wait_connected("bad"));
  auto status = host_->wait(submit());
  ASSERT_EQ(status.task.state, State::failed);
  EXPECT_THAT(status.finished->message, HasSubstr("its output is no JSON"));
  host_->stop_agent("bad");
  start_command("worse", "yes");
  ASSERT_TRUE(host_->wait_connected("worse"));
  status = host_->wait(submit());
  ASSERT_EQ(status.task.state, State::failed);
  EXPECT_THAT(status.finished->message, HasSubstr("more than the 1048576 bytes"));
}

TEST_F(BadAgents, a_command_that_writes_too_large_a_file_fails_for_lack_of_a_resource_and_is_no_crash) {
  const std::string file = std::filesystem::temp_directory_path() / ("skein-large-" + std::to_string(::getpid()));
  OsExecutorOptions options;
  options.limits.file_bytes = 64ULL << 10U;
  start_command("bad", "exec dd if=/dev/zero of=" + file + " bs=1k count=1000", options);
  ASSERT_TRUE(host_->wait_connected("bad"));
  const auto status = host_->wait(submit({}, 1));
  ASSERT_EQ(status.task.state, State::failed);
  EXPECT_THAT(status.finished->message, HasSubstr("65536 bytes that file_max allows"));
  EXPECT_THAT(host_->crashes(), testing::IsEmpty());
  std::filesystem::remove(file);
}

TEST_F(BadAgents, a_command_that_cannot_be_started_costs_no_attempt_and_is_tried_again) {
  const std::string program = std::filesystem::temp_directory_path() / ("skein-late-" + std::to_string(::getpid()));
  OsExecutorOptions options;
  options.command = {program};
  host_->start_agent("bad", Kind::command, "work", options);
  agents_.push_back("bad");
  ASSERT_TRUE(host_->wait_connected("bad"));
  const auto id = submit({}, 1);
  EXPECT_TRUE(eventually([&] {
    const auto state = host_->state("bad");
    return state && state->executor.find("cannot start '" + program + "'") != std::string::npos;
  }));
  EXPECT_TRUE(eventually([&] { return host_->status(id).task.state == State::queued; }));
  EXPECT_THAT(host_->crashes(), testing::IsEmpty());
  {
    std::ofstream late(program + ".new");
    late << "#!/bin/sh\necho 17\n";
  }
  ::chmod((program + ".new").c_str(), 0700);
  std::filesystem::rename(program + ".new", program);
  const auto status = host_->wait(id);
  ASSERT_EQ(status.task.state, State::completed) << status.finished->message;
  EXPECT_EQ(status.task.attempts, 0U) << "none has failed";
  std::filesystem::remove(program);
}

TEST_F(BadAgents, a_failure_tells_of_standard_error_only_what_was_written_during_its_task) {
  start("bad", R"(
def log(text):
    sys.stderr.write(text + "\n"); sys.stderr.flush()
log("before any")
for number, task in enumerate(tasks()):
    log("of task %d" % number)
    if number < 2:
        done(task, number)
    elif number == 2:
        send(type="error", task=task["task"], fence=task["fence"], error={"class": "permanent", "message": "no"})
    else:
        sys.exit(3)
)");
  ASSERT_TRUE(host_->wait_connected("bad"));
  for (int number = 0; number < 2; ++number) ASSERT_EQ(host_->wait(submit()).task.state, State::completed);
  EXPECT_EQ(host_->wait(submit({}, 1)).task.state, State::failed);
  const auto status = host_->wait(submit({}, 1));
  ASSERT_EQ(status.task.state, State::failed);
  EXPECT_THAT(status.finished->message, HasSubstr("of task 3"));
  for (const char* other : {"before any", "of task 0", "of task 1", "of task 2"}) {
    EXPECT_THAT(status.finished->message, testing::Not(HasSubstr(other)));
  }
}

TEST_F(BadAgents, the_last_words_of_a_task_that_times_out_are_its_own) {
  start("bad", R"(
for number, task in enumerate(tasks()):
    sys.stderr.write("of task %d\n" % number); sys.stderr.flush()
    if number == 0:
        done(task)
    else:
        time.sleep(1000)
)");
  ASSERT_TRUE(host_->wait_connected("bad"));
  ASSERT_EQ(host_->wait(submit()).task.state, State::completed);
  const auto status = host_->wait(submit(700ms, 1));
  ASSERT_EQ(status.task.state, State::failed);
  EXPECT_THAT(status.finished->message, HasSubstr("of task 1"));
  EXPECT_THAT(status.finished->message, testing::Not(HasSubstr("of task 0")));
}

TEST_F(BadAgents, a_command_gets_its_task_in_the_environment_and_nothing_of_the_nodes_own) {
  ::setenv("SKEIN_TEST_SECRET", "do not tell", 1);
  start_command("bad",
                R"(read -r params; printf '{"params":%s,"id":"%s","attempt":%s,"fence":%s,"trace":"%s","secret":"%s"}')"
                R"( "$params" "$SKEIN_TASK_ID" "$SKEIN_ATTEMPT" "$SKEIN_FENCE" "$TRACEPARENT" "$SKEIN_TEST_SECRET")");
  ASSERT_TRUE(host_->wait_connected("bad"));
  operations::SubmitRequest request;
  request.type = "work";
  request.params = "{\n\"a\":1.50}";
  request.trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
  const auto id = host_->submit(request);
  const auto status = host_->wait(id);
  ASSERT_EQ(status.task.state, State::completed) << status.finished->message;
  EXPECT_EQ(ledger::view_of(status.finished->result),
            R"({"params":{ "a":1.50},"id":")" + id.text() + R"(","attempt":1,"fence":)" +
                std::to_string(status.task.fence) + R"(,"trace":")" + request.trace + R"(","secret":""})");
}

TEST_F(BadAgents, a_running_command_that_is_cancelled_dies_with_its_children) {
  start_command("bad", "sleep 1000 & sleep 1000 & wait");
  ASSERT_TRUE(host_->wait_connected("bad"));
  const auto id = submit();
  ASSERT_TRUE(eventually([&] { return host_->os_processes().size() >= 3; }));
  host_->cancel(id);
  EXPECT_TRUE(eventually([&] { return host_->os_processes().empty(); }));
  EXPECT_TRUE(eventually([&] { return is_idle("bad"); }));
}

class ExampleAgents : public BadAgents {
 protected:
  void start_example(const std::string& capability, const std::string& file, Kind kind = Kind::stdio,
                     OsExecutorOptions options = {}) {
    options.command = {
        (test_fixture("").parent_path().parent_path().parent_path() / "examples/agents" / file).string()};
    host_->start_agent("example", kind, capability, std::move(options));
    agents_.emplace_back("example");
    ASSERT_TRUE(host_->wait_connected("example"));
  }
  std::string result(const std::string& type, const std::string& params) {
    const auto status = host_->wait(host_->submit(type, params));
    if (!status.finished) return "not finished";
    if (status.task.state != State::completed) return "failed: " + status.finished->message;
    return std::string(ledger::view_of(status.finished->result));
  }
};

TEST_F(ExampleAgents, word_count_in_python) {
  start_example("word_count", "word_count.py");
  EXPECT_THAT(result("word_count", R"({"text":"to be or not to be"})"), HasSubstr(R"("words": 6, "distinct": 4)"));
  EXPECT_THAT(result("word_count", "{}"), HasSubstr("failed: bad params"));
}

TEST_F(ExampleAgents, countdown_in_python_goes_on_where_an_earlier_attempt_stopped) {
  start_example("countdown", "countdown.py");
  const auto id = host_->submit("countdown", R"({"steps":60})");
  ASSERT_TRUE(eventually([&] { return host_->status(id).task.mark != nullptr; }));
  ::kill(host_->os_processes().front(), SIGKILL);
  const auto status = host_->wait(id);
  ASSERT_EQ(status.task.state, State::completed) << status.finished->message;
  EXPECT_THAT(std::string(ledger::view_of(status.finished->result)), HasSubstr(R"("steps": 60, "resumed_at": )"));
  EXPECT_THAT(std::string(ledger::view_of(status.finished->result)), testing::Not(HasSubstr(R"("resumed_at": 0)")));
}

TEST_F(ExampleAgents, countdown_in_python_stops_when_it_is_cancelled_and_lives_on) {
  OsExecutorOptions options;
  options.term_after = 500ms;
  start_example("countdown", "countdown.py", Kind::stdio, options);
  const auto id = host_->submit("countdown", R"({"steps":1000})");
  ASSERT_TRUE(eventually([&] { return host_->status(id).task.state == State::executing; }));
  const auto before = host_->os_processes();
  host_->cancel(id);
  // Longer than term_after: the cancel of the task before must not reach this one.
  EXPECT_EQ(result("countdown", R"({"steps":40})"), R"({"steps": 40, "resumed_at": 0})");
  EXPECT_EQ(host_->os_processes(), before) << "it was killed though it did as asked";
}

TEST_F(BadAgents, small_programs_in_python_and_in_shell_do_their_tasks) {
  OsExecutorOptions options;
  options.command = {"/bin/sh", "-c", sim::shell_stdio_program("work() { answer \"{\\\"n\\\":$(number n)}\"; }")};
  host_->start_agent("shell", Kind::stdio, "in_shell", options);
  options.command = {"python3", "-c", sim::python_stdio_program("def work(task): done(task, task['params'])")};
  host_->start_agent("python", Kind::stdio, "in_python", options);
  agents_ = {"shell", "python"};
  for (const char* type : {"in_shell", "in_python"}) {
    for (const char* params : {R"({"n":7})", R"({"n":8})"}) {
      const auto status = host_->wait(host_->submit(type, params));
      ASSERT_EQ(status.task.state, State::completed) << type;
      std::string result(ledger::view_of(status.finished->result));
      std::erase(result, ' ');
      EXPECT_EQ(result, params) << type;
    }
  }
}

TEST_F(ExampleAgents, upper_in_shell) {
  start_example("upper", "upper.sh");
  EXPECT_EQ(result("upper", "\"make it loud\""), "\"MAKE IT LOUD\"");
}

TEST_F(ExampleAgents, summarize_in_javascript) {
  if (!has_program("node")) GTEST_SKIP() << "skipped: node: it is not installed";
  start_example("summarize", "summarize.js");
  EXPECT_EQ(result("summarize", R"({"numbers":[1,2,6]})"), R"({"count":3,"sum":9,"mean":3})");
  EXPECT_THAT(result("summarize", R"({"numbers":1})"), HasSubstr("failed: params.numbers"));
}

TEST_F(ExampleAgents, line_count_in_shell_as_a_command) {
  start_example("lines", "line_count.sh", Kind::command);
  EXPECT_THAT(result("lines", R"({"path":"/etc/passwd"})"), HasSubstr(R"({"path":"/etc/passwd","lines":)"));
  EXPECT_THAT(result("lines", "{}"), HasSubstr("failed: exit code 65: params need"));
}

}  // namespace
}  // namespace skein::sim

#include "skein/agent/function_executor.hpp"

#include <charconv>
#include <stdexcept>
#include <utility>

#include "skein/agent/function_agent.hpp"

namespace skein::inline v0::agent {

using dispatch::TaskRef;

FunctionOutcome echo(const dispatch::Order& order) { return FunctionResult{order.params}; }

FunctionOutcome sleep(const dispatch::Order& order) {
  const auto text = ledger::view_of(order.params);
  std::int64_t ms = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), ms);
  if (error != std::errc{} || end != text.data() + text.size() || ms < 0 || ms > 86'400'000) {
    return Failure{ledger::ErrorClass::permanent, "sleep takes milliseconds, from 0 to 86400000", std::nullopt};
  }
  return FunctionLater{std::chrono::milliseconds(ms), nullptr};
}

FunctionOutcome fail(const dispatch::Order& order) {
  return Failure{ledger::ErrorClass::transient, std::string(ledger::view_of(order.params)), std::nullopt};
}

FunctionOutcome crash(const dispatch::Order& order) {
  throw std::runtime_error("asked to crash by task " + order.id.text());
}

FunctionOutcome built_in(const dispatch::Order& order) {
  const std::string& type = order.shape->type;
  if (type == "echo") return echo(order);
  if (type == "sleep") return sleep(order);
  if (type == "fail") return fail(order);
  if (type == "crash") return crash(order);
  return Failure{ledger::ErrorClass::permanent, "no built-in function '" + type + "'", std::nullopt};
}

std::vector<std::string> built_in_types() { return {"echo", "sleep", "fail", "crash"}; }

FunctionExecutor::FunctionExecutor(std::shared_ptr<const TaskFunction> function) : function_(std::move(function)) {
  if (!function_ || !*function_) throw std::invalid_argument("function executor: a function must be given");
}

void FunctionExecutor::start(ExecutorHost& host) {
  host_ = &host;
  host.ready();
}

void FunctionExecutor::run(const dispatch::Order& order) {
  const TaskRef ref = order.ref;
  FunctionOutcome outcome = (*function_)(order);
  if (auto* done = std::get_if<FunctionResult>(&outcome)) {
    host_->complete(ref, std::move(done->result));
  } else if (auto* failure = std::get_if<Failure>(&outcome)) {
    host_->failed(ref, std::move(*failure));
  } else if (auto* later = std::get_if<FunctionLater>(&outcome)) {
    later_ = ref;
    host_->started(ref);
    const Self self = host_->process();
    self.send_after(later->after, self.pid(), Ripe{ref, std::move(later->result)});
  }
}

void FunctionExecutor::stop(TaskRef ref, dispatch::StopReason) {
  if (later_ != ref) return;
  later_.reset();
  host_->returned(ref);
}

void FunctionExecutor::handle(Message message) {
  auto* ripe = message.get_if<Ripe>();
  if (ripe == nullptr || later_ != ripe->ref) return;
  later_.reset();
  host_->complete(ripe->ref, std::move(ripe->result));
}

std::unique_ptr<AgentSetup> agent_setup(std::unique_ptr<FunctionAgentOptions> options) {
  auto setup = std::make_unique<AgentSetup>();
  setup->name = std::move(options->name);
  setup->role = options->role;
  setup->capabilities = std::move(options->capabilities);
  setup->prefetch = options->prefetch;
  setup->registry = std::move(options->registry);
  setup->executor =
      std::make_unique<FunctionExecutor>(std::make_shared<const TaskFunction>(std::move(options->function)));
  return setup;
}

}  // namespace skein::inline v0::agent

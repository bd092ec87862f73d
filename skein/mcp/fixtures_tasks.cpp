// Fixtures of the tasks extension: their work is tasks of this node's ledger, run by its agents of the built-in
// functions, so what the suite sees of them is what it would see of real work.
//
// Two of them ask for input first. Until a task can wait for a person in the ledger itself, such a task is parked: it
// is submitted with a delay that nobody waits for, each answer is made durable as a task whose key says what it
// answers, and when all are there the work is submitted under a key too. So what is asked, what was answered and what
// has begun are in the ledger, and a restart loses none of it.
#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "skein/mcp/fixtures.hpp"
#include "skein/mcp/tool_parts.hpp"
#include "skein/operations/json_forms.hpp"

namespace skein::inline v0::mcp {
namespace {

constexpr std::int64_t k_parked_ms = 365LL * 24 * 3600 * 1000;
constexpr double k_ms_per_second = 1000;

json::object plain_result(std::string_view text, bool is_error = false) {
  json::object result{{"content", json::array{json::object{{"type", "text"}, {"text", text}}}}};
  if (is_error) result["isError"] = true;
  return result;
}

// What a task came to: its message when it failed, else what `text` makes of it.
TaskSupport::ResultReader outcome_by(std::function<std::string(const json::object& task)> text) {
  return [text = std::move(text)](const json::object& task) -> std::expected<json::object, RpcError> {
    if (text_in(task, "state") == "failed") return plain_result(text_in(task, "message"), true);
    return plain_result(text(task));
  };
}

void answer_when_ended(Exchange& exchange, const std::string& id, const TaskSupport::ResultReader& outcome) {
  exchange.ask_node("task_wait", {{"id", id}}, [outcome](Exchange& then, const NodeAnswer& answer) {
    if (answer.kind == NodeAnswer::Kind::part) return;
    if (answer.kind == NodeAnswer::Kind::error) return then.finish_error(error_text(answer.value));
    if (answer.value.at("finished") == false) return then.finish_error("it takes too long for a client without tasks");
    auto result = outcome(answer.value.at("task").as_object());
    if (!result) return then.fail(std::move(result.error()));
    then.finish(std::move(*result));
  });
}

// Submits, and answers with the task or, to a client that cannot have one, with what it came to.
void run_as_task(Exchange& exchange, json::object request, const TaskSupport::ResultReader& outcome) {
  exchange.ask_node("task_submit", std::move(request), [outcome](Exchange& then, const NodeAnswer& answer) {
    if (answer.kind == NodeAnswer::Kind::error) return then.finish_error(error_text(answer.value));
    std::string id = text_in(answer.value.as_object(), "id");
    if (then.can_task()) return then.become_task(std::move(id));
    answer_when_ended(then, id, outcome);
  });
}

// ---- tasks that wait for input ----

using Inputs = std::function<std::vector<InputRequest>(const json::object& arguments)>;

std::string key_of(const std::string& id, std::string_view what) { return fmt::format("fixture/{}/{}", id, what); }

// One walk over a parked task and all that belongs to it.
struct Walk {
  Inputs inputs;
  std::string id;
  Exchange::OnAnswer then;
  json::object task{};  // the parked one
  std::vector<InputRequest> left{};
  json::object open{};     // what is asked and not answered
  json::object answers{};  // to the rest
};
using WalkPtr = std::shared_ptr<Walk>;

void end_walk(Exchange& exchange, const WalkPtr& walk) {
  if (!walk->open.empty()) {
    walk->task["state"] = "awaiting_approval";
    walk->task["input_requests"] = walk->open;
    return walk->then(exchange, {NodeAnswer::Kind::ok, walk->task});
  }
  const json::object work{{"arguments", walk->task.at("params")}, {"answers", walk->answers}};
  exchange.ask_node("task_submit",
                    {{"type", "echo"}, {"params", operations::json_text(work)}, {"key", key_of(walk->id, "work")}},
                    [walk](Exchange& then, const NodeAnswer& answer) {
                      if (answer.kind == NodeAnswer::Kind::error) return walk->then(then, answer);
                      walk->then(then, {NodeAnswer::Kind::ok, walk->task});
                    });
}

void next_input(Exchange& exchange, const WalkPtr& walk) {
  if (walk->left.empty()) return end_walk(exchange, walk);
  InputRequest next = std::move(walk->left.back());
  walk->left.pop_back();
  const std::string key = key_of(walk->id, next.key);
  exchange.ask_node("task_status", {{"key", key}}, [walk, next](Exchange& then, const NodeAnswer& answer) {
    if (answer.kind == NodeAnswer::Kind::ok) {
      walk->answers[next.key] = answer.value.at("params");
    } else {
      walk->open[next.key] = json::object{{"method", next.method}, {"params", next.params}};
    }
    next_input(then, walk);
  });
}

void look_for_work(Exchange& exchange, const WalkPtr& walk) {
  const json::object by_key{{"key", key_of(walk->id, "work")}};
  exchange.ask_node("task_status", by_key, [walk](Exchange& then, const NodeAnswer& answer) {
    if (answer.kind == NodeAnswer::Kind::ok) {
      json::object work = answer.value.as_object();
      work["submitted_at"] = walk->task.at("submitted_at");
      return walk->then(then, {NodeAnswer::Kind::ok, std::move(work)});
    }
    if (walk->task.contains("finished_at")) return walk->then(then, {NodeAnswer::Kind::ok, walk->task});
    walk->left = walk->inputs(walk->task.at("params").as_object());
    next_input(then, walk);
  });
}

TaskSupport::Look look_at_parked(Inputs inputs) {
  return [inputs = std::move(inputs)](Exchange& exchange, const std::string& id, Exchange::OnAnswer then) {
    const auto walk = std::make_shared<Walk>(Walk{inputs, id, std::move(then)});
    exchange.ask_node("task_status", {{"id", id}}, [walk](Exchange& asked, const NodeAnswer& answer) {
      if (answer.kind == NodeAnswer::Kind::error) return walk->then(asked, answer);
      walk->task = answer.value.as_object();
      look_for_work(asked, walk);
    });
  };
}

// Keeps the answers to what is open, one after the other, then looks again.
void keep_answers(Exchange& exchange, std::vector<json::object> submits, const TaskSupport::Look& look,
                  const std::string& id, const Exchange::OnAnswer& then) {
  if (submits.empty()) return look(exchange, id, then);
  json::object next = std::move(submits.back());
  submits.pop_back();
  exchange.ask_node("task_submit", std::move(next),
                    [submits = std::move(submits), look, id, then](Exchange& asked, const NodeAnswer& answer) {
                      if (answer.kind == NodeAnswer::Kind::error) return then(asked, answer);
                      keep_answers(asked, submits, look, id, then);
                    });
}

TaskSupport::Give give_to_parked(TaskSupport::Look look) {
  return [look = std::move(look)](Exchange& exchange, const std::string& id, json::object responses,
                                  Exchange::OnAnswer then) {
    look(exchange, id,
         [look, id, responses = std::move(responses), then = std::move(then)](Exchange& asked,
                                                                              const NodeAnswer& answer) {
           const json::object* task = answer.kind == NodeAnswer::Kind::ok ? answer.value.if_object() : nullptr;
           const json::object* open = task != nullptr ? object_in(*task, "input_requests") : nullptr;
           if (open == nullptr) return then(asked, answer);
           std::vector<json::object> submits;
           for (const auto& each : responses) {
             if (!open->contains(each.key())) continue;
             submits.push_back(
                 {{"type", "echo"}, {"params", operations::json_text(each.value())}, {"key", key_of(id, each.key())}});
           }
           keep_answers(asked, std::move(submits), look, id, then);
         });
  };
}

InputRequest asks_consent(std::string key, std::string_view text) {
  return {std::move(key),
          "elicitation/create",
          {{"message", text},
           {"requestedSchema",
            json::parse(R"({"type":"object","properties":{"confirm":{"type":"boolean"}},"required":["confirm"]})")}}};
}

std::string answers_text(const json::object& task) {
  return "Done with " + operations::json_text(task.at("result").at("answers"));
}

void add_asking_tool(Catalog& catalog, const char* name, const char* schema, const Inputs& inputs) {
  const TaskSupport::Look look = look_at_parked(inputs);
  TaskSupport support{TaskSupport::Mode::offered, outcome_by(answers_text), look, give_to_parked(look)};
  catalog.add(Tool{
      name,
      "",
      "Conformance: a task that asks for input",
      json::parse(schema),
      {},
      {},
      [inputs](Exchange& exchange) {
        if (exchange.can_task()) {
          return run_as_task(
              exchange,
              {{"type", "echo"}, {"params", operations::json_text(exchange.arguments())}, {"delay_ms", k_parked_ms}},
              {});
        }
        std::vector<InputRequest> open;
        for (InputRequest& each : inputs(exchange.arguments())) {
          if (exchange.input(each.key) == nullptr) open.push_back(std::move(each));
        }
        if (!open.empty()) return exchange.need(std::move(open));
        exchange.finish(plain_result("Done"));
      },
      "elicitation",
      std::move(support)});
}

// ---- the rest ----

void slow_compute(Exchange& exchange, const TaskSupport::ResultReader& outcome) {
  const double seconds = exchange.arguments().at("seconds").to_number<double>();
  const auto ms = std::llround(seconds * k_ms_per_second);
  run_as_task(exchange, {{"type", "sleep"}, {"params", std::to_string(ms)}}, outcome);
}

// Asks first, in the manner of any call, and goes on as a task when it knows.
void greet_later(Exchange& exchange) {
  const json::object* input = exchange.input("user_name");
  if (input == nullptr) {
    return exchange.need(
        {{"user_name",
          "elicitation/create",
          {{"message", "What is your name?"}, {"requestedSchema", json::parse(R"({"type":"object","properties":{"name":
                              {"type":"string"}},"required":["name"]})")}}}});
  }
  run_as_task(exchange, {{"type", "echo"}, {"params", operations::json_text(*input)}}, {});
}

std::string greeting(const json::object& task) {
  const json::object* result = object_in(task, "result");
  const json::object* content = result != nullptr ? object_in(*result, "content") : nullptr;
  return fmt::format("Hello, {}!", content != nullptr ? text_in(*content, "name") : "whoever you are");
}

std::expected<json::object, RpcError> broken(const json::object&) {
  return std::unexpected(RpcError{k_internal_error, "this job breaks the protocol on purpose", nullptr});
}

}  // namespace

void add_task_fixtures(Catalog& catalog) {
  using Mode = TaskSupport::Mode;
  const auto add = [&](const char* name, const char* description, const char* schema, Handler call,
                       TaskSupport support) {
    catalog.add(Tool{name, "", description, json::parse(schema), {}, {}, std::move(call), "", std::move(support)});
  };
  const char* const none = R"({"type":"object"})";
  add("greet", "Conformance: greets at once",
      R"({"type":"object","properties":{"name":{"type":"string"}},"required":["name"]})",
      [](Exchange& exchange) {
        exchange.finish(plain_result(fmt::format("Hello, {}!", text_in(exchange.arguments(), "name"))));
      },
      {});
  const auto slept = outcome_by([](const json::object&) { return std::string("Computed"); });
  add("slow_compute", "Conformance: a task that takes a while",
      R"({"type":"object","properties":{"seconds":{"type":"number","minimum":0,"maximum":3600},
          "label":{"type":"string"}},"required":["seconds"]})",
      [slept](Exchange& exchange) { slow_compute(exchange, slept); }, {Mode::offered, slept});
  const auto failed = outcome_by([](const json::object&) { return std::string("It did not fail"); });
  add("failing_job", "Conformance: a task that fails", none,
      [failed](Exchange& exchange) {
        run_as_task(exchange, {{"type", "fail"}, {"params", R"("it fails on purpose")"}, {"attempts", 1}}, failed);
      },
      {Mode::required, failed});
  add("protocol_error_job", "Conformance: a task whose answer is an error of the protocol", none,
      [](Exchange& exchange) { run_as_task(exchange, {{"type", "echo"}}, broken); }, {Mode::offered, broken});
  add("test_tool_with_task", "Conformance: asks, then goes on as a task", none, greet_later,
      {Mode::required, outcome_by(greeting)});
  add_asking_tool(
      catalog, "confirm_delete",
      R"({"type":"object","properties":{"filename":{"type":"string"}},"required":["filename"]})",
      [](const json::object& arguments) {
        return std::vector{asks_consent("confirm", fmt::format("Delete {}?", text_in(arguments, "filename")))};
      });
  add_asking_tool(catalog, "multi_input", none, [](const json::object&) {
    return std::vector{asks_consent("first", "Is the first thing right?"),
                       asks_consent("second", "Is the second thing right?")};
  });
}

}  // namespace skein::inline v0::mcp

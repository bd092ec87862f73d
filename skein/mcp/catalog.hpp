// What a server offers: tools, prompts, resources, each with what is listed of it and the handler that answers. Made
// once, then immutable; any thread.
//
// add() throws std::invalid_argument for what clients would trip over: a name that is not [A-Za-z0-9_-]{1,64}, a name
// given twice, an input schema that is no plain object schema or that cannot be checked.
#pragma once

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skein/mcp/exchange.hpp"
#include "skein/mcp/schema.hpp"
#include "skein/mcp/task_support.hpp"

namespace skein::inline v0::mcp {

using Handler = Exchange::Handler;

struct Tool {
  std::string name;
  std::string title;
  std::string description;
  json::value input_schema;
  json::value output_schema{};  // null: none
  json::object annotations{};
  Handler call;
  std::string needs{};  // a capability of the client without which it cannot run
  TaskSupport task{};
  std::string as_written{};  // an argument of any type whose numbers are kept as they were written, see json_exact.hpp
};

struct Prompt {
  struct Argument {
    std::string name;
    std::string description;
    bool is_required = false;
  };
  std::string name;
  std::string title;
  std::string description;
  std::vector<Argument> arguments{};
  Handler get;
  Handler complete{};  // name(): the argument, arguments()["value"]: what is typed; none: nothing is suggested
  std::vector<std::string> uses{};  // operations that it tells the model to use; listed for clients that may use all
};

struct Resource {
  std::string uri;  // or a template with one variable in braces: "skein://tasks/{id}"
  std::string name;
  std::string title;
  std::string description;
  std::string mime = "application/json";
  Handler read;
  Handler complete{};  // of the variable
  // The operation that reads the resource. For a template, which is about one thing, also the member that names the
  // thing. The resource is listed for clients that may ask for the operation; without an operation, for everybody.
  struct Source {
    std::string operation{};
    std::string member{};
  };
  Source source{};
};

class Catalog {
 public:
  struct ListedTool {
    Tool tool;
    Schema input;
    json::object listed;
  };
  struct ListedPrompt {
    Prompt prompt;
    json::object listed;
  };
  struct ListedResource {
    Resource resource;
    json::object listed;
    bool is_template = false;
  };

  void add(Tool tool);
  void add(Prompt prompt);
  void add(Resource resource);

  std::string server_name = "skein";
  std::string server_title = "skein";
  std::string server_version{};
  std::string instructions{};
  bool lists_change = false;  // while it runs
  std::chrono::milliseconds task_ttl = k_task_ttl;

  // In the order they were added.
  [[nodiscard]] const std::vector<ListedTool>& tools() const { return tools_; }
  [[nodiscard]] const std::vector<ListedPrompt>& prompts() const { return prompts_; }
  [[nodiscard]] const std::vector<ListedResource>& resources() const { return resources_; }

  // Null when there is none.
  [[nodiscard]] const ListedTool* tool(std::string_view name) const;
  [[nodiscard]] bool has_tasks() const;  // some tool supports them
  [[nodiscard]] const ListedPrompt* prompt(std::string_view name) const;
  struct Found {
    const ListedResource* resource = nullptr;
    std::string variable{};
  };
  // Itself before a template that also fits.
  [[nodiscard]] Found resource(std::string_view uri) const;
  [[nodiscard]] const ListedResource* uri_template(std::string_view text) const;

 private:
  std::vector<ListedTool> tools_;
  std::vector<ListedPrompt> prompts_;
  std::vector<ListedResource> resources_;
};

}  // namespace skein::inline v0::mcp

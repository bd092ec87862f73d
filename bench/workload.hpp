// The list of benchmarks. A bench/*.cpp file adds its workloads with a static registrar:
//
//   const skein::bench::Registrar k_ping{{.group = "runtime", .name = "ping_pong", .unit = "roundtrip/s", .run =
//   ping}};
//
// The list is filled before main and only read afterwards, by main's thread.
#pragma once

#include <vector>

namespace skein::bench {

struct Workload {
  const char* group;
  const char* name;
  const char* unit;
  double (*run)();  // runs the work once and returns the figure in `unit`
};

[[nodiscard]] std::vector<Workload>& workloads();

struct Registrar {
  explicit Registrar(const Workload& workload) { workloads().push_back(workload); }
};

}  // namespace skein::bench

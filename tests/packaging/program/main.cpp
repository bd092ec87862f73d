#include <cstdio>
#include <skein/base/version.hpp>
#include <string>

int main() {
  std::printf("skein %s\n", std::string(skein::version()).c_str());
  return 0;
}

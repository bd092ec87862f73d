// Boost.JSON, compiled once: Debian's headers bring no library of it.
#include <boost/json/src.hpp>

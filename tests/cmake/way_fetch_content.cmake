# SPDX-License-Identifier: Apache-2.0
# FetchContent from a repository, here one on this machine with the work tree as its one commit.
include("${CMAKE_CURRENT_LIST_DIR}/Ways.cmake")

make_outside_folder(outside)
set(repository "${outside}/repository")
copy_sources("${repository}")
set(
  git
  git
  -C
  "${repository}"
  -c
  user.name=test
  -c
  user.email=test@localhost
)
foreach(step IN ITEMS "init;--quiet;-b;main" "add;--all" "commit;--quiet;-m;All")
  execute_process(COMMAND ${git} ${step} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
set(options "-DTILEWRIGHT_REPOSITORY=file://${repository}")
check_way("${outside}/ways-in/fetch-content")
file(REMOVE_RECURSE "${outside}")

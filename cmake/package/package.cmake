# `make package`: weir_VERSION_amd64.deb, weir-mpi_..., and a tarball that needs no root and no packages.
# Included at the end of CMakeLists.txt, when everything is installed that there is.
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_NAME weir)
set(CPACK_PACKAGE_VENDOR "The Weir authors")
set(CPACK_PACKAGE_CONTACT "The Weir authors <weir@example.invalid>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "discrete-event simulator of datacenter LLM serving")
set(CPACK_PACKAGE_DESCRIPTION
    "Weir replays the requests of a JSON scenario through batching, paged KV caches and parallelism on modelled GPUs, memories that compute and links: latencies, throughput, utilisation, joules and dollars, in seconds on a laptop.")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/by_generator.cmake)  # what differs between the two
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/bundle.cmake)          # the tarball's libraries

# Debian's. Depends come from what the executables load (dpkg-shlibdeps).
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL weir)
if(TARGET weir_mpi)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_WEIR_PACKAGE_NAME weir)
set(CPACK_DEBIAN_WEIR_PACKAGE_RECOMMENDS gnuplot-nox)
set(CPACK_DEBIAN_WEIR_PACKAGE_SUGGESTS "python3-pandas, weir-mpi")
set(CPACK_DEBIAN_MPI_PACKAGE_NAME weir-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "weir (= ${PROJECT_VERSION}), openmpi-bin")
set(CPACK_COMPONENT_MPI_DESCRIPTION "sweeps and plans of weir on many machines, under mpirun")
include(CPack)

# All that packages are made of, without the tests.
add_custom_target(packaged DEPENDS weir)
if(TARGET weir_mpi)
  add_dependencies(packaged weir_mpi)
endif()

// The system's C library under one name: what stands above the radio asks for files, time and logarithms, not for
// Glibc.

#if canImport(Glibc)
    @_exported public import Glibc
#elseif canImport(Musl)
    @_exported public import Musl
#elseif canImport(Darwin)
    @_exported public import Darwin
#endif

// What libFuzzer calls. The target is named by the environment: FUZZ_TARGET=advertising.
//
// FUZZ_SEEDS=FOLDER writes the target's inputs to begin with into a folder and ends; FUZZ_TARGETS=1 lists the targets.

import Glibc

private let chosen: FuzzTarget? = {
    let name = environment("FUZZ_TARGET")
    return FuzzTarget.all.first { $0.name == name }
}()

private func environment(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

/// Called once, before the first input.
@_cdecl("LLVMFuzzerInitialize")
public func begin(
    _ count: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?>
) -> CInt {
    if environment("FUZZ_TARGETS") != nil {
        for target in FuzzTarget.all { print(target.name, target.longest) }
        exit(0)
    }
    guard let chosen else {
        print("FUZZ_TARGET names one of \(FuzzTarget.all.map(\.name).joined(separator: ", "))")
        exit(2)
    }
    if let folder = environment("FUZZ_SEEDS") { exit(write(chosen.seeds(), to: folder) ? 0 : 1) }
    return 0
}

/// Called with each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func take(_ octets: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do {
        try chosen?.run(Array(UnsafeBufferPointer(start: octets, count: count)))
    } catch {
        fatalError("\(error)")
    }
    return 0
}

private func write(_ seeds: [[UInt8]], to folder: String) -> Bool {
    seeds.enumerated().allSatisfy { number, octets in
        guard let file = fopen("\(folder)/seed-\(number)", "w") else { return false }
        defer { fclose(file) }
        return fwrite(octets, 1, octets.count, file) == octets.count
    }
}

import Testing

@testable import SimulatedWorlds

/// What grows with each world is found, and what grows once is not taken for it.
@Suite struct HeapGrowthTests {
    /// What is in use in a process, each fifty worlds: it varies by some KiB, and is warm after a while.
    private static func samples(_ count: Int, leak: Int = 0, step: Int = 0, at place: Int = 0) -> [Int] {
        var noise: UInt32 = 1
        return (0..<count).map { index in
            noise = noise &* 1_664_525 &+ 1_013_904_223
            let varying = Int(noise >> 18)
            return 900_000 + min(index, 20) * 4_000 + varying + index * 50 * leak + (index >= place ? step : 0)
        }
    }

    private static func growth(_ samples: [Int]) -> Int? { HeapGrowth(samples: samples, worldsPerSample: 50).perWorld }

    @Test(arguments: [78, 100, 1000]) func `a table of the runtime that doubles is no leak`(_ count: Int) throws {
        for place in stride(from: 0, to: count, by: count / 26) {
            let growth = try #require(Self.growth(Self.samples(count, step: 131_072, at: place)))
            #expect(abs(growth) < 30, "a step at \(place): \(growth)")
        }
    }

    @Test(arguments: [78, 100, 1000]) func `an object for each world is found`(_ count: Int) throws {
        let growth = try #require(Self.growth(Self.samples(count, leak: 112)))
        #expect(abs(growth - 112) < 30)
        let stepped = try #require(Self.growth(Self.samples(count, leak: 112, step: 131_072, at: count * 3 / 4)))
        #expect(abs(stepped - 112) < 40)
    }

    @Test func `of a few worlds nothing is said`() {
        #expect(Self.growth(Self.samples(15)) == nil && Self.growth([]) == nil)
        #expect(Self.growth(Self.samples(16)) != nil)
    }
}

/// The end of a central's program, which begins anew with what it has stored.
struct PlannedRestart: Sendable, CustomStringConvertible {
    let number: Int
    let central: Int
    let time: Duration

    init(_ number: Int, seed: UInt64, centrals: Int) {
        var chance = Chance(seed, 0x4000 + UInt64(number))
        self.number = number
        central = chance.below(centrals)
        time = chance.seconds(1...200)
    }

    var description: String { "r\(number): at \(time), the programs of central \(central) end and begin anew" }
}

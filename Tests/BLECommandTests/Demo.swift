/// The devices of `--simulated`, as a user of the command knows them.
enum Demo {
    static let heartRate = "C4:F2:17:1A:1D:BB"
    static let transfer = "C4:F2:17:1A:1D:BC"
    static let values = "C4:F2:17:1A:1D:BD"
    static let trouble = "C4:F2:17:1A:1D:BE"
    static let update = "C4:F2:17:1A:1D:BF"
    /// An address of the right form that nobody has.
    static let absent = "C4:F2:17:1A:1D:00"

    static let measurement = "2A37"
    static let message = vendor(0x02)
    static let short = vendor(0x11)
    static let long = vendor(0x12)
    static let readOnly = vendor(0x13)
    static let encrypted = vendor(0x14)
    static let counting = vendor(0x15)
    static let fickle = vendor(0x21)
    static let torn = vendor(0x22)
    static let silent = vendor(0x23)
    static let mute = vendor(0x24)
    static let unknown = vendor(0x99)

    static let text = (1...60).map { "Line \($0) of a message that doesn't fit into one notification.\n" }.joined()

    static func vendor(_ number: UInt8) -> String {
        "7A1C00" + (number < 16 ? "0" : "") + String(number, radix: 16, uppercase: true)
            + "-5F2B-4C8E-9D3A-6B70E14F2C55"
    }
}

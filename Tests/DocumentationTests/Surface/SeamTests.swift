import Testing

/// A program that imports the library doesn't see the seam to the radio, and the author of a backend does.
@Suite(.timeLimit(.minutes(10))) struct SeamTests {
    private static let seam = [
        "any Radio", "any ATTLink", "any ATTLinkReceiver", "any Timeline", "RealTimeline", "ScanRequest",
        "ReceivedPDUs", "PairingCapability", "PairingInterview", "PairingQuestion", "PairingQuestion.Answer",
        "RadioActivity",
    ]

    /// What the compiler says of a program that imports a module and names types.
    private static func complaints(about types: [String], importing module: String) throws -> String {
        let uses = types.enumerated().map { "private func use\($0.offset)(_ value: \($0.element)) {}" }
        return try Compiler().complaints(about: ["program": (["import \(module)"] + uses).joined(separator: "\n")])
    }

    @Test func `a program that imports only BLEStreams can't name the seam`() throws {
        let complaints = try Self.complaints(about: Self.seam, importing: "BLEStreams")
        // Of a nested type the outer one is what can't be found.
        for name in Self.seam.compactMap({ $0.split(separator: " ").last?.split(separator: ".").first }) {
            #expect(complaints.contains("cannot find type '\(name)' in scope"), "\(name) can be named")
        }
    }

    @Test func `the author of a backend names all of it by one import`() throws {
        let complaints = try Self.complaints(about: Self.seam + ["AdapterInfo", "Bond"], importing: "BLERadio")
        #expect(complaints.isEmpty, "\(complaints)")
    }

    @Test func `a program that imports only BLEStreams names what the seam hands to it`() throws {
        let types = [
            "AdapterInfo", "AdvertiseRequest", "Bond", "LinkSecurity.Level", "LinkSecurity",
        ]
        let complaints = try Self.complaints(about: types, importing: "BLEStreams")
        #expect(complaints.isEmpty, "\(complaints)")
    }
}

import BLEProtocol

@testable import BLEDevices

extension FuzzTarget {
    /// What a device notifies while its firmware is updated, in parts as they come; and an image file.
    static let mcumgr = FuzzTarget("mcumgr", longest: 512, seeds: mcumgrSeeds) { octets in
        var input = FuzzInput(octets)
        guard input.chance() else {
            let octets = input.rest()
            let image = MCUbootImage(octets)
            let firmware = try? FirmwareImage(octets)
            try require(firmware?.version == image?.version && firmware?.bootHash == image?.hash, "another image")
            if let image {
                let isOfAKind = image.hash.map { [32, 48, 64].contains($0.count) } ?? true
                try require(isOfAKind, "a hash of \(image.hash ?? [])")
            }
            return
        }
        var (reassembler, aligned) = (MCUmgrReassembler(), MCUmgrReassembler())
        while !input.isAtEnd {
            let part = input.chunk()
            let begun = aligned.append(part) { $0.operation.response == nil }
            try require(begun.count <= 1 + part.count / MCUmgrMessage.headerSize, "more messages than came")
            for case .success(let message) in reassembler.append(part) {
                let written = message.encoded
                let again = try MCUmgrMessage(decoding: written)
                try require(again.encoded == written, "\(message) is written otherwise the second time")
                try require(again.sequence == message.sequence && again.command == message.command, "another header")
                try require((message.operation.response == nil) == (message.operation.rawValue & 1 == 1), "no answer")
                if let failure = MCUmgrFailure(message.body) { try FuzzTarget.check(failure) }
            }
            try require(reassembler.count <= MCUmgrMessage.headerSize + Int(UInt16.max), "more than a message")
        }
    }

    private static func check(_ failure: MCUmgrFailure) throws {
        _ = (failure.description, failure.isUnsupported, failure.isTooLarge, failure.isWrongImage)
        try require(failure.code != 0, "a failure without a code")
        try require(!failure.isPassing || failure.slotInUse == nil, "it passes, and must be made room for")
    }

    private static let mcumgrSeeds: [[UInt8]] = {
        let body: CBORValue = .map(["rc": .integer(0), "off": .unsigned(512)])
        let message = MCUmgrMessage(.writeResponse, .imageUpload, sequence: 7, body: body).encoded
        let header: [UInt8] = [0x3D, 0xB8, 0xF3, 0x96, 0, 0, 0, 0, 32, 0, 44, 0, 4, 0, 0, 0, 0, 0, 0, 0]
        let version: [UInt8] = [1, 2, 3, 0, 4, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9]
        let hash: [UInt8] = [0x10, 0, 32, 0] + .init(repeating: 7, count: 32)
        let trailers: [UInt8] = [0x08, 0x69, 44, 0, 1, 0, 0, 0] + hash + [0x07, 0x69, 40, 0] + hash
        return [
            [1, UInt8(message.count)] + message, [1, 5] + message.prefix(5) + [200] + message.dropFirst(5) + message,
            [0] + header + version + trailers,
        ]
    }()
}

import BLEStreams
import Foundation
import Testing

@testable import Gateway

/// The errors of the library as the gateway tells them: to somebody who edits a configuration and runs `ble`.
@Suite struct GatewayWordsTests {
    /// What names a call, a type or a closure of the library.
    private static var call: Regex<Substring> {
        /[A-Z][A-Za-z]+\.[a-z]|[a-z]\(|[Pp]ass (?:the )?answers|Pass the |\b(?:queue|session)\.[a-z]/
    }

    private static let store = GatewayStore([:], userID: 1000)
    private static let address = "C4:F2:17:1A:1D:BB"

    @Test(arguments: [
        (
            "Pair with the peripheral first, with Link.pair(); or pass the answers once to Central.open(pairing:), "
                + "Peripheral.allowPairing(_:) or withLink(pairing:), and the library pairs when needed.",
            "Pair with the peripheral first, with `ble pair C4:F2:17:1A:1D:BB` while the gateway is stopped; or "
                + "configure `pairing` of the peripheral, and the gateway pairs when needed."
        ),
        (
            "Make the link authenticated, with Link.secure(to: .authenticated, answers:); or pass the answers once to "
                + "Central.open(pairing:), Peripheral.allowPairing(_:) or withLink(pairing:).",
            "Make the link authenticated, with `pairing.passkeyFile` of the peripheral in the configuration."
        ),
        (
            "Remove the bond with Peripheral.unpair(), then pair again.",
            "Remove the bond with `ble unpair C4:F2:17:1A:1D:BB` while the gateway is stopped, then pair again."
        ),
        (
            "Close another link, or join a second adapter: AdapterChoice.joined(_:).",
            "Close another link, or name a second adapter in `adapters` of the configuration."
        ),
        ("Call `Session.reset()` to begin again.", "Wait: the gateway begins again by itself."),
        (
            "Check that the peer is in range and answers, or allow more time.",
            "Check that the peripheral is in range and answers."
        ),
    ])
    func `a remedy names what an operator can do`(_ remedy: String, _ words: String) {
        #expect(BLEError.reworded(remedy, about: "of 2A6E of \(Self.address)", Self.store) == words)
    }

    @Test func `an error is told with its cause and its remedy in these words`() {
        var error = BLEError(
            .adapterPoweredOff,
            operation: "scan",
            object: "hci0",
            cause: "this program itself has switched off hci0, by `Central.setPowered(false)`",
            remedy: "Switch it on with `Central.setPowered(true)`."
        )
        error.elapsed = .seconds(2)
        let text = gatewayWords(for: error)
        #expect(text.contains("by `ble adapter off`") && text.hasSuffix("Switch it on with `ble adapter on`."))
        #expect(SessionState.failed(error).words == "failed: \(text)")
    }

    @Test(
        arguments: [
            ([:], 1000, "ble pair A"),
            (["STATE_DIRECTORY": "/var/lib/ble-gateway"], 0, "STATE_DIRECTORY=/var/lib/ble-gateway ble pair A"),
            (
                ["STATE_DIRECTORY": "/var/lib/ble-gateway", "INVOCATION_ID": "0", "USER": "ble-gateway"], 998,
                "sudo systemd-run --pty -p User=ble-gateway -p StateDirectory=ble-gateway "
                    + "-p 'AmbientCapabilities=CAP_NET_ADMIN CAP_NET_RAW' ble pair A"
            ),
            (
                ["STATE_DIRECTORY": "/var/lib/g:/var/lib/h", "INVOCATION_ID": "0", "USER": "u"], 61184,
                "sudo systemd-run --pty -p DynamicUser=yes -p User=u -p StateDirectory=g "
                    + "-p 'AmbientCapabilities=CAP_NET_ADMIN CAP_NET_RAW' ble pair A"
            ),
            (
                ["STATE_DIRECTORY": "/home/u/state", "INVOCATION_ID": "0", "USER": "u"], 1000,
                "STATE_DIRECTORY=/home/u/state ble pair A"
            ),
        ] as [([String: String], UInt32, String)]
    )
    func `a command runs on the bonds of the gateway, wherever it keeps them`(
        _ environment: [String: String],
        _ userID: UInt32,
        _ command: String
    ) {
        #expect(GatewayStore(environment, userID: userID).command("pair A") == command)
    }

    /// What the gateway doesn't do: it is no peripheral, records nothing, imports no bonds, sends no messages in parts,
    /// runs commands in its sessions' queues only, and brings no radio of its own.
    private static let unreached: Set<String> = [
        "BLELinux/Advertise", "BLESimulator", "BLEStreams/Server", "BLEStreams/Transfer", "BLEStreams/Capture",
        "BLEProtocol/Advertising", "BLEProtocol/Server", "BLEStreams/Storage/BondFile.swift",
        "BLEStreams/Storage/BluetoothdBonds.swift", "BLEStreams/Security/Central+Bonds.swift",
        "BLEStreams/Commands", "BLEStreams/Queue", "BLEStreams/Session/Session+Queue.swift",
        "BLEStreams/Link/Link+ReadingSeveral.swift", "BLEStreams/Profiles", "BLEStreams/Operators",
        "BLERadio/Radio.swift", "BLERadio/Radio+Pairing.swift", "BLERadio/ATTLink+Conditions.swift",
        "BLEStreams/Central/MachineRadio.swift", "BLEStreams/Flows/CommandContext+Resuming.swift",
    ]

    @Test func `no remedy that can reach the gateway names a call of the library`() throws {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../../Sources")
            .standardized
        let files = FileManager.default.enumerator(at: sources, includingPropertiesForKeys: nil)
        var count = 0
        for case let file as URL in files ?? .init() where file.pathExtension == "swift" {
            let path = String(file.path.dropFirst(sources.path.count)).drop { $0 == "/" }
            guard !Self.unreached.contains(where: { path.hasPrefix($0) }) else { continue }
            for sentence in Self.sentences(in: try String(contentsOf: file, encoding: .utf8)) {
                count += 1
                let words = BLEError.reworded(sentence, about: "with \(Self.address)", Self.store)
                #expect(!words.contains(Self.call), "\(path): \(words)")
            }
        }
        #expect(count > 100)
    }

    /// The texts of a source file that begin as a remedy does, those of several lines put together, and without what
    /// is inserted into them.
    private static func sentences(in source: String) -> [String] {
        // Errors of a program that serves centrals.
        let ofPeripherals = /LocalPeripheral|ConnectedCentral/
        guard source.contains("remedy") else { return [] }
        let lines = source.split(separator: "\n").map { $0.drop { $0 == " " } }.filter { !$0.hasPrefix("//") }
        let code = lines.joined(separator: "\n").replacing(/"\s*\+\s*"/, with: "")
        let texts = code.matches(of: /"((?:[^"\\\n]|\\.)*)"/).map { String($0.1) }
        let sentences = texts.filter { $0.contains(#/^ ?[A-Z][a-z']+:? [^ ]+ /#) && !$0.contains(ofPeripherals) }
        return sentences.map { sentence in
            sentence.replacing(/\\\([^()]*(?:\([^()]*\)[^()]*)*\)/, with: "…").replacing(/\\\(.*/, with: "…")
        }
    }
}

import BLEProtocol
import BLERadio
import BLESimulator
import BLEStreams
import Testing

/// Pairings that end while the program of the peripheral is asked.
@Suite(.timeLimit(.minutes(10))) struct EndedPairingTests {
    /// What ends the pairing.
    enum End: CaseIterable, Sendable {
        case centralGivesUp, centralLeaves, outOfRange, peripheralDrops

        /// What the peripheral is told.
        var failure: PairingFailure {
            switch self {
            case .centralGivesUp, .centralLeaves, .outOfRange: .refusedByCentral
            case .peripheralDrops: .timedOut
            }
        }
    }

    private static func description(_ pairing: PairingAnswers) -> LocalPeripheral {
        LocalPeripheral(name: "Lock", pairing: pairing) {
            LocalService(BluetoothUUID(0xB000)) {
                LocalCharacteristic(BluetoothUUID(0xB001), [.read], value: .stored([42]), access: .encrypted)
            }
        }
    }

    /// Answers that compare for ten minutes, and note when they are asked, and when that is withdrawn.
    private static func slow(
        _ time: VirtualTime,
        _ isAsked: Flag,
        _ isWithdrawn: Flag,
        limit: Duration = .seconds(28)
    ) -> PairingAnswers {
        PairingAnswers(
            compares: { _ in
                isAsked.set()
                do { try await time.sleep(for: .seconds(600)) } catch { isWithdrawn.set() }
                return false
            },
            limit: limit
        )
    }

    /// Has a central pair for three seconds, or for as long as the link is up, and keep the link then.
    private static func visit(_ device: Peripheral, _ time: VirtualTime, until end: End) async -> BLEError? {
        let agrees = PairingAnswers(compares: { _ in true })
        return await bleError {
            try await device.withLink { link in
                let limit = Duration.seconds(end == .centralGivesUp || end == .centralLeaves ? 3 : 60)
                do { try await link.pair(answers: agrees, timeout: limit) } catch let error as BLEError {
                    if end == .centralGivesUp { try await time.sleep(for: .seconds(20)) }
                    throw error
                }
            }
        }
    }

    @Test(arguments: End.allCases)
    func `its question is withdrawn, and the peripheral is told`(end: End) async throws {
        let (isAsked, isWithdrawn, warnings) = (Flag(), Flag(), Recorder<BLEError>())
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (near, far) = (air.adapter(), air.adapter())
            let device = try await Central.open(.radio(near)).peripheral(far.address)
            let description = Self.description(Self.slow(time, isAsked, isWithdrawn))
            try await description.run(on: far, warning: { warnings.add($0) }) { server in
                async let visit = Self.visit(device, time, until: end)
                while !isAsked.isSet { try await time.sleep(for: .milliseconds(10)) }
                switch end {
                case .centralGivesUp, .centralLeaves: break
                case .outOfRange: air.setSignal(.outOfRange, between: near, and: far)
                case .peripheralDrops: for central in server.centrals { central.disconnect() }
                }
                try await time.sleep(for: .seconds(10))
                #expect(isWithdrawn.isSet)
                #expect(warnings.all.compactMap(\.pairingFailure) == [end.failure], "\(warnings.all)")
                #expect(server.centrals.isEmpty == (end != .centralGivesUp))
                let error = await visit
                #expect(error != nil)
                if end == .outOfRange { #expect(error?.reason?.kind == .supervisionTimeout, "\(error as Any)") }
            }
        }
    }

    @Test func `where nobody answers for as long as the Security Manager waits the link is dropped`() async throws {
        let (isAsked, isWithdrawn, warnings) = (Flag(), Flag(), Recorder<BLEError>())
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (near, far) = (air.adapter(), air.adapter())
            let device = try await Central.open(.radio(near)).peripheral(far.address)
            let description = Self.description(Self.slow(time, isAsked, isWithdrawn, limit: .seconds(600)))
            try await description.run(on: far, warning: { warnings.add($0) }) { server in
                try await device.withLink { link in
                    let agrees = PairingAnswers(compares: { _ in true })
                    let error = await bleError { try await link.pair(answers: agrees) }
                    #expect(error?.pairingFailure == .timedOut && time.now > .seconds(30) && time.now < .seconds(32))
                    try await time.sleep(for: .seconds(1))
                    let end = await bleError { _ = try await link.deviceName() }
                    #expect(end?.code == .disconnected && end?.reason?.kind == .closedLocally, "\(end as Any)")
                }
                #expect(isWithdrawn.isSet && server.centrals.isEmpty)
                #expect(warnings.all.compactMap(\.pairingFailure) == [.unanswered], "\(warnings.all)")
            }
        }
    }

    @Test func `whoever pairs learns why the link ended, also with a peripheral behind a private address`()
        async throws
    {
        let (isAsked, isWithdrawn) = (Flag(), Flag())
        try await VirtualTime.run { time in
            let air = SimulatedAir(time)
            let (near, far) = (air.adapter(), air.adapter())
            try await Central.open(.radio(far)).setPrivacy(true)
            let device = try await Central.open(.radio(near)).peripheral(far.addressOnAir)
            let description = Self.description(Self.slow(time, isAsked, isWithdrawn))
            try await description.run(on: far, warning: { _ in }) { _ in
                async let visit = Self.visit(device, time, until: .outOfRange)
                while !isAsked.isSet { try await time.sleep(for: .milliseconds(10)) }
                air.setSignal(.outOfRange, between: near, and: far)
                try await time.sleep(for: .seconds(2))
                #expect(isWithdrawn.isSet)
                let error = await visit
                #expect(error?.code == .disconnected && error?.reason?.kind == .supervisionTimeout, "\(error as Any)")
                #expect(error?.isFinal == false && time.now < .seconds(15))
            }
        }
    }

    @Test func `one that comes under a new address for each attempt fills no log`() async throws {
        let warnings = Recorder<BLEError>()
        try await VirtualTime.run { time in
            let puppet = PuppetRadio(SimulatedAir(time).adapter(name: "hci7"))
            let description = Self.description(PairingAnswers())
            try await description.run(on: .radio(puppet), store: .inMemory(), warning: { warnings.add($0) }) { _ in
                for number in UInt64(0)..<1256 {
                    let central = BluetoothAddress(rawValue: 0x4000_0000_0000 + number, kind: .random)
                    puppet.tellPairingReceiver(.failed(central, .pairingFailed(by: central, .refusedByCentral)))
                }
                // What is told of nobody yet is told, though there were so many.
                let central = BluetoothAddress(rawValue: 0x5000_0000_0000, kind: .random)
                puppet.tellPairingReceiver(.failed(central, .pairingFailed(by: central, .wouldWeakenBond)))
                try await time.sleep(for: .seconds(1))
            }
        }
        // The first 256, and the 1st, the 10th, the 100th and the 1000th of the others.
        let refused = [PairingFailure?](repeating: PairingFailure.refusedByCentral, count: 260)
        #expect(warnings.all.map(\.pairingFailure) == refused + [PairingFailure.wouldWeakenBond])
    }
}

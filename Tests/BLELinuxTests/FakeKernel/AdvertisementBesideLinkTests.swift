import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

/// An advertisement that begins while its adapter has a link beside which the controller can't advertise, on a kernel
/// in memory.
@Suite(.timeLimit(.minutes(10))) struct AdvertisementBesideLinkTests {
    private let run = FakeRun(kernel: FakeKernel { $0.peers[.example] = FakePeer(address: .example) })

    private var kernel: FakeKernel { run.kernel }

    /// Makes a link; from then on the kernel gives the next command of one kind this answer.
    private func makeLink(isCentral: Bool, answering opcode: UInt16, with answer: ManagementStatus) async {
        kernel.with { state in
            state.makeLink(of: kernel.peripheral, isCentral: isCentral)
            state.adapters[kernel.peripheral]?.answers[opcode] = answer
        }
        await kernel.idle()
    }

    /// The error of an advertisement that must fail.
    private func error(advertising radio: LinuxRadio) async throws -> BLEError? {
        do {
            try await run.advertise(radio).cancel()
        } catch let error as BLEError {
            return error
        }
        return nil
    }

    @Test(arguments: [true, false])
    func `it fails only for as long as the link lasts, and names the peer`(isCentral: Bool) async throws {
        let radio = try run.radio(kernel.peripheral)
        await makeLink(isCentral: isCentral, answering: 0x54, with: .invalidParameters)
        let failure = try await error(advertising: radio)
        #expect(failure?.code == .busy)
        #expect(failure?.isFinal == false)
        #expect(failure?.cause.contains("\(BluetoothAddress.example)") == true)
        withExtendedLifetime(radio) {}
    }

    @Test func `a controller with extended advertising, for which the kernel rejects it, is told alike`() async throws {
        let radio = try run.radio(kernel.peripheral)
        await makeLink(isCentral: true, answering: 0x54, with: .rejected)
        let failure = try await error(advertising: radio)
        #expect(failure?.code == .busy && failure?.cause.contains("\(BluetoothAddress.example)") == true)
        #expect(failure?.remedy.contains("powerCycle") == false)
        withExtendedLifetime(radio) {}
    }

    @Test func `one that the kernel keeps, though it can't change it, doesn't outlast the program`() async throws {
        let number = kernel.peripheral
        let radio = try run.radio(number)
        let advertisement = try await run.advertise(radio)
        let instances: () -> Int? = { kernel.with { $0.adapters[number]?.instances.count } }
        #expect(instances() == 1)
        await makeLink(isCentral: false, answering: 0x55, with: .invalidParameters)
        #expect(kernel.with { $0.adapters[number]?.answers[0x55] } == nil)
        advertisement.cancel()
        await kernel.idle()
        #expect(instances() == 0)
        withExtendedLifetime(radio) {}
    }

    @Test func `a central that leaves under the identity it has told is not waited for`() async throws {
        let number = kernel.peripheral
        let radio = try run.radio(number)
        let advertisement = try await run.advertise(radio)
        let central = ManagementAddress(try #require(BluetoothAddress("66:55:44:33:22:11/random")))
        let identity = ManagementAddress(.example)
        kernel.with { $0.tell(number, 0x0B, central.octets + [0, 0, 0, 0, 0, 0]) }
        await kernel.idle()
        var key: [UInt8] = [1]
        key += central.octets.prefix(6)
        key += identity.octets
        key += Array(1...16)
        kernel.with { state in
            state.tell(number, 0x18, key)
            state.tell(number, 0x0C, identity.octets + [3])
        }
        await kernel.idle()
        // Another program removes it, and the kernel refuses it once, as it does beside a link that has just ended.
        kernel.with { state in
            let instances = state.adapters[number]?.instances.keys.sorted() ?? []
            state.adapters[number]?.instances = [:]
            state.adapters[number]?.answers[0x54] = .invalidParameters
            for instance in instances { state.tell(number, 0x24, [instance]) }
        }
        let isBack = await kernel.run(run.timeline, within: FakeRun.patience) {
            kernel.with { $0.adapters[number]?.instances.values.contains { $0.isOnAir } == true }
        }
        #expect(isBack)
        advertisement.cancel()
        await kernel.idle()
        withExtendedLifetime(radio) {}
    }
}

import BLEProtocol
import BLERadio
import Testing

@testable import BLELinux

@Suite(.serialized, .enabled(if: KernelLab.isHere, KernelLab.absence), .timeLimit(.minutes(10)))
struct KernelAdapterTests {
    private func failureToScan(_ radio: LinuxRadio) async -> BLEError? {
        let scan = Events { radio.scan(ScanRequest(), events: $0) }
        guard case .failed(let error) = await scan.next() else { return nil }
        return error
    }

    private func failureToAdvertise(_ radio: LinuxRadio) async -> BLEError? {
        let request = AdvertiseRequest(data: AdvertisingData(bytes: [2, 1, 6]))
        let advertisement = Events { radio.advertise(request, events: $0) }
        guard case .failed(let error) = await advertisement.next() else { return nil }
        return error
    }

    private func failureToListen(_ radio: LinuxRadio) async -> BLEError? {
        let listener = Events { radio.listen(events: $0) }
        guard case .failed(let error) = await listener.next() else { return nil }
        return error
    }

    @Test func `chooses the first adapter that is on`() async throws {
        let all = try LinuxRadio().adapter
        #expect(all.name == "hci0")
        try await KernelLab.power(false, "hci0")
        #expect(try LinuxRadio().adapterName == "hci1")
        try await KernelLab.power(true, "hci0")
        #expect(try LinuxRadio().adapterName == "hci0")
    }

    @Test func `an adapter that is not there may be named, and says so`() async throws {
        let radio = try LinuxRadio(adapter: "hci7")
        let states = Events { radio.observeAdapter($0) }
        #expect(await states.next() == AdapterInfo(name: "hci7", address: nil, state: .absent))
        let connecting = await radio.failureToConnect(to: KernelLab.absent)
        #expect(connecting?.code == .adapterNotFound)
        #expect(connecting?.remedy.contains("hci0") == true)
        #expect(await failureToScan(radio)?.code == .adapterNotFound)
        #expect(await failureToAdvertise(radio)?.code == .adapterNotFound)
        #expect(await failureToListen(radio)?.code == .adapterNotFound)
    }

    @Test func `one that may be missing is the first that is on, and says what it is`() async throws {
        let radio = try LinuxRadio(awaiting: nil)
        let states = Events { radio.observeAdapter($0) }
        #expect(await states.next()?.state == .poweredOn)
        #expect(radio.adapterName == "hci0" && radio.adapter.facts?.isKnown == true)
        #expect(try LinuxRadio(awaiting: "hci7").adapterInfo.state == .absent)
    }

    @Test func `an adapter that is off says so and tells when it is on`() async throws {
        let name = KernelLab.central
        try await KernelLab.power(false, name)
        let radio = try LinuxRadio(adapter: name)
        let states = Events { radio.observeAdapter($0) }
        #expect(await states.next()?.state == .poweredOff)
        for error in [
            await radio.failureToConnect(to: KernelLab.absent), await failureToScan(radio),
            await failureToAdvertise(radio), await failureToListen(radio),
        ] {
            #expect(error?.code == .adapterPoweredOff)
            #expect(error?.remedy.contains("power on") == true)
        }
        try await KernelLab.power(true, name)
        #expect(await states.next()?.state == .poweredOn)
    }

    @Test(.disabled(if: KernelFaults.killsWhoClosesDeadSockets, KernelLab.closingFault))
    func `everything ends when the adapter is switched off`() async throws {
        try KernelLab.peer("reset")
        let name = KernelLab.central
        let radio = try LinuxRadio(adapter: name)
        let states = Events { radio.observeAdapter($0) }
        #expect(await states.next()?.state == .poweredOn)
        let (link, receiver) = try await radio.openLink(to: KernelLab.near)
        let scan = Events { radio.scan(ScanRequest(), events: $0) }
        let listener = Events { radio.listen(events: $0) }
        #expect(await scan.next().map { if case .started = $0 { true } else { false } } == true)
        #expect(await listener.next().map { if case .started = $0 { true } else { false } } == true)

        try await KernelLab.power(false, name)
        #expect(await states.next()?.state == .poweredOff)
        let scanError = await scan.first { if case .failed(let error) = $0 { error } else { nil } }
        #expect(scanError?.code == .adapterPoweredOff)
        let listenError = await listener.first { if case .failed(let error) = $0 { error } else { nil } }
        #expect(listenError?.code == .adapterPoweredOff)
        let reason = await receiver.untilEnd().reason
        #expect([.adapterOff, .closedByPeer, .closedLocally].contains(reason?.kind), "\(reason as Any)")
        #expect(link.send([0x02, 0x17, 0x00]) == .ended)
        try await KernelLab.power(true, name)
        #expect(await states.next()?.state == .poweredOn)
    }

    @Test(.disabled(if: KernelFaults.killsWhoClosesDeadSockets, KernelLab.closingFault))
    func `an attempt to connect fails when the adapter is switched off`() async throws {
        let name = KernelLab.central
        let radio = try LinuxRadio(adapter: name)
        let attempt = Events { radio.connect(to: KernelLab.absent, result: $0) }
        try await KernelLab.power(false, name)
        guard case .failure(let error) = await attempt.next() else {
            Issue.record("connected to nobody")
            return
        }
        #expect([.adapterPoweredOff, .connectionFailed].contains(error.code), "\(error)")
        try await KernelLab.power(true, name)
        // The adapter serves on.
        try KernelLab.peer("reset")
        let (link, receiver) = try await radio.openLink(to: KernelLab.near)
        link.disconnect()
        _ = await receiver.untilEnd()
    }

    @Test func `without capabilities connecting works and the rest names what is missing`() async throws {
        try KernelLab.peer("reset")
        try await KernelLab.asNobody {
            let radio = try LinuxRadio(adapter: KernelLab.central)
            let states = Events { radio.observeAdapter($0) }
            #expect(await states.next()?.state == .poweredOn)
            for error in [await failureToScan(radio), await failureToAdvertise(radio)] {
                #expect(error?.code == .permissionDenied)
                #expect(error?.cause.contains("CAP_NET_ADMIN") == true)
                // In a shell, a service or a container: where this runs decides.
                #expect(error?.remedy == ProcessRights.remedy(for: .networkAdministration, on: .ofThisMachine))
            }
            let (link, receiver) = try await radio.openLink(to: KernelLab.near)
            #expect(link.send([0x02, 0x05, 0x02]) == .sent)
            #expect(await receiver.next() == .received([0x03, 0x05, 0x02]))
            link.disconnect()
            #expect(await receiver.untilEnd().reason?.kind == .closedLocally)
        }
    }
}

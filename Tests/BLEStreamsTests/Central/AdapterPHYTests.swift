import BLESimulator
import BLEStreams
import Testing

/// What an adapter's controller can do, and what it uses for links.
@Suite(.timeLimit(.minutes(10))) struct AdapterPHYTests {
    /// A bench whose links would be on 2M.
    private static func run(_ body: @escaping @Sendable (Bench) async throws -> Void) async throws {
        try await Bench.run { bench in
            bench.centralAdapter.settings.linkTiming.phy = .le2M
            bench.centralAdapter.settings.phys = [.le1M, .le2M, .leCoded]
            try await body(bench)
        }
    }

    private static func phy(_ bench: Bench) async throws -> LinkConditions.PHY? {
        try await bench.peripheral.withLink { try await $0.conditions().sendingPHY }
    }

    @Test func `all that the controller can do is in use, and 1M can't be left out`() async throws {
        try await Self.run { bench in
            let phys = try await bench.central.adapterPHYs()
            #expect(phys.supported == AdapterPHYs.Selection([.le1M, .le2M, .leCoded]))
            #expect(phys.configurable == AdapterPHYs.Selection([.le2M, .leCoded]))
            #expect(phys.selected == phys.supported)
            #expect("\(phys.selected)" == "1M, 2M, Coded")
        }
    }

    @Test func `what is selected is for the next link, and comes with 1M`() async throws {
        try await Self.run { bench in
            #expect(try await Self.phy(bench) == .le2M)
            try await bench.peripheral.withLink { link in
                try await bench.central.selectPHYs(AdapterPHYs.Selection(sending: [], receiving: [.leCoded]))
                #expect(try await link.conditions().sendingPHY == .le2M)
            }
            let selected = try await bench.central.adapterPHYs().selected
            #expect(selected == AdapterPHYs.Selection(sending: [.le1M], receiving: [.le1M, .leCoded]))
            #expect("\(selected)" == "1M out, 1M, Coded in")
            #expect(try await Self.phy(bench) == .le1M)
            try await bench.central.selectPHYs(AdapterPHYs.Selection([.le2M]))
            #expect(try await Self.phy(bench) == .le2M)
        }
    }

    @Test func `a selection lasts while the adapter is off, and until it is unplugged`() async throws {
        try await Self.run { bench in
            let adapter = bench.centralAdapter
            try await bench.central.selectPHYs(AdapterPHYs.Selection([.le1M]))
            adapter.powerOff()
            adapter.powerOn()
            #expect(try await Self.phy(bench) == .le1M)
            adapter.unplug()
            adapter.plugIn()
            #expect(try await Self.phy(bench) == .le2M)
            let phys = try await bench.central.adapterPHYs()
            #expect(phys.selected == phys.supported)
        }
    }

    @Test func `a controller that can't do it is named, with what it can`() async throws {
        try await Self.run { bench in
            bench.centralAdapter.settings.phys = [.le1M, .le2M]
            let error = await bleError { try await bench.central.selectPHYs(AdapterPHYs.Selection([.le2M, .leCoded])) }
            #expect(error?.code == .notSupported && error?.cause.contains("doesn't support Coded") == true)
            #expect(
                error?.cause.contains("it supports 1M, 2M") == true
                    && error?.remedy.contains("Leave out the unsupported PHYs") == true
            )
            let phys1 = try await bench.central.adapterPHYs()
            #expect(phys1.selected == AdapterPHYs.Selection([.le1M, .le2M]))
        }
    }

    @Test func `an adapter that is off is asked, and told nothing`() async throws {
        try await Self.run { bench in
            bench.centralAdapter.powerOff()
            let supported = try await bench.central.adapterPHYs().supported
            #expect(supported.sending.count == 3)
            let error = await bleError { try await bench.central.selectPHYs(AdapterPHYs.Selection([.le1M])) }
            #expect(error?.code == .adapterPoweredOff)
            bench.centralAdapter.unplug()
            let absence = await bleError { _ = try await bench.central.adapterPHYs() }
            #expect(absence?.code == .adapterNotFound)
        }
    }

    @Test func `of joined adapters it is what each has, and all are told`() async throws {
        try await Self.run { bench in
            let other = bench.air.adapter()
            let central = try await Central.open(.joined([.radio(bench.centralAdapter), .radio(other)]))
            let phys2 = try await central.adapterPHYs()
            #expect(phys2.supported == AdapterPHYs.Selection([.le1M, .le2M]))
            try await central.selectPHYs(AdapterPHYs.Selection([.le1M]))
            for adapter in [bench.centralAdapter, other] {
                let own = try await Central.open(.radio(adapter))
                let phys3 = try await own.adapterPHYs()
                #expect(phys3.selected == AdapterPHYs.Selection([.le1M]))
            }
            let error = await bleError { try await central.selectPHYs(AdapterPHYs.Selection([.leCoded])) }
            #expect(error?.code == .notSupported)
        }
    }
}

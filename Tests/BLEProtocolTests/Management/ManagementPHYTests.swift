import BLEProtocol
import Testing

/// Bits from BlueZ, `doc/mgmt-protocol.rst`, Get PHY Configuration.
@Suite struct ManagementPHYTests {
    @Test func `the bits of Low Energy are modulations, those of classic Bluetooth are none`() {
        // BR 1M 1, 3 and 5 slots; LE 1M both ways, 2M out, Coded in.
        let phys = ManagementPHYs(rawValue: 0x0000_4E07)
        #expect(phys.selection == AdapterPHYs.Selection(sending: [.le1M, .le2M], receiving: [.le1M, .leCoded]))
        #expect(ManagementPHYs(phys.selection).rawValue == 0x4E00)
        #expect(phys.subtracting(.lowEnergy).rawValue == 0x0007)
        #expect(ManagementPHYs.lowEnergy.rawValue == 0x7E00)
    }

    @Test func `what can't be left out is selected with what is wished, and what is not there is not`() {
        let phys = AdapterPHYs(
            supported: AdapterPHYs.Selection([.le1M, .le2M]),
            configurable: AdapterPHYs.Selection([.le2M]),
            selected: AdapterPHYs.Selection([.le1M, .le2M])
        )
        #expect(phys.selection(for: AdapterPHYs.Selection([])) == AdapterPHYs.Selection([.le1M]))
        #expect(phys.selection(for: AdapterPHYs.Selection([.le2M])) == AdapterPHYs.Selection([.le1M, .le2M]))
        #expect(phys.selection(for: AdapterPHYs.Selection(sending: [.leCoded], receiving: [])) == nil)
    }
}

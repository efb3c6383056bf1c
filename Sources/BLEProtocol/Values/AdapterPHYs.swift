extension AdapterPHYs {
    /// PHYs for the two directions of a link, as seen from this side.
    public struct Selection: Hashable, Sendable {
        /// The PHYs on which this side may send.
        public var sending: Set<LinkConditions.PHY>

        /// The PHYs on which the other side may send.
        public var receiving: Set<LinkConditions.PHY>

        /// Makes a selection for each direction.
        public init(sending: Set<LinkConditions.PHY>, receiving: Set<LinkConditions.PHY>) {
            self.sending = sending
            self.receiving = receiving
        }

        /// Makes the same selection for both directions.
        public init(_ phys: Set<LinkConditions.PHY>) { self.init(sending: phys, receiving: phys) }

        /// The PHYs that both have.
        package func intersection(_ other: AdapterPHYs.Selection) -> AdapterPHYs.Selection {
            AdapterPHYs.Selection(
                sending: sending.intersection(other.sending),
                receiving: receiving.intersection(other.receiving)
            )
        }

        /// The PHYs that either has.
        package func union(_ other: AdapterPHYs.Selection) -> AdapterPHYs.Selection {
            AdapterPHYs.Selection(sending: sending.union(other.sending), receiving: receiving.union(other.receiving))
        }

        /// The PHYs that the other one lacks.
        package func subtracting(_ other: AdapterPHYs.Selection) -> AdapterPHYs.Selection {
            AdapterPHYs.Selection(
                sending: sending.subtracting(other.sending),
                receiving: receiving.subtracting(other.receiving)
            )
        }
    }
}

extension AdapterPHYs.Selection: CustomStringConvertible {
    /// The PHYs in words: `1M, 2M`; if the directions differ, both: `1M out, 1M, 2M in`.
    public var description: String {
        let (out, into) = (Self.words(sending), Self.words(receiving))
        return out == into ? out : "\(out) out, \(into) in"
    }

    private static func words(_ phys: Set<LinkConditions.PHY>) -> String {
        phys.isEmpty
            ? "none" : LinkConditions.PHY.allCases.filter(phys.contains).map(\.rawValue).joined(separator: ", ")
    }
}

/// The PHYs of an adapter's links: those that its controller supports, and those selected.
///
/// They apply to the adapter, not to a link: the two controllers of a link agree on one that both have selected.
/// ``LinkConditions/sendingPHY`` and ``LinkConditions/receivingPHY`` report the result.
public struct AdapterPHYs: Hashable, Sendable {
    /// The PHYs that the controller supports.
    public var supported: AdapterPHYs.Selection

    /// The supported PHYs that can be selected or left out; 1M can't be left out.
    public var configurable: AdapterPHYs.Selection

    /// The PHYs that it uses if the other side supports them.
    public var selected: AdapterPHYs.Selection

    /// Describes an adapter's PHYs.
    public init(supported: AdapterPHYs.Selection, configurable: AdapterPHYs.Selection, selected: AdapterPHYs.Selection)
    {
        self.supported = supported
        self.configurable = configurable
        self.selected = selected
    }

    /// The selection for these requested PHYs, together with those that can't be left out; `nil` if the controller
    /// doesn't support all of them.
    package func selection(for wish: AdapterPHYs.Selection) -> AdapterPHYs.Selection? {
        let lacking = wish.subtracting(supported)
        guard lacking.sending.isEmpty, lacking.receiving.isEmpty else { return nil }
        return wish.union(supported.subtracting(configurable))
    }
}

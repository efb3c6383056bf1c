import BLEProtocol

/// Which state leads to which, as a picture in SVG: the states at the left lead to those above where there is a dot.
enum StatePicture {
    private static let (left, top, cell) = (240, 240, 26)
    private static let states = SessionState.Kind.allCases

    static var text: String {
        let size = cell * states.count
        let lines = states.indices.flatMap(frame) + dots
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(left + size + 20) \(top + size + 12)" width="\(left + size + 20)">
            <style>
            text { font: 14px ui-monospace, monospace; fill: #1d1d1f; dominant-baseline: central }
            line { stroke: #d2d2d7 } circle { fill: #0066cc } .disconnected { fill: #6e6e73 } .failed { fill: #d70015 }
            @media (prefers-color-scheme: dark) {
            text { fill: #f5f5f7 } line { stroke: #424245 } circle { fill: #2997ff } .failed { fill: #ff6961 }
            }
            </style>
            <title>The states at the left lead to those above where there is a dot.</title>
            \(lines.joined(separator: "\n"))
            </svg>

            """
    }

    /// A state's names and lines: its row and its column.
    private static func frame(_ index: Int) -> [String] {
        let (x, y) = (left + cell * index + cell / 2, top + cell * index + cell / 2)
        let end = cell * states.count
        return [
            #"<line x1="\#(left)" y1="\#(y)" x2="\#(left + end)" y2="\#(y)"/>"#,
            #"<line x1="\#(x)" y1="\#(top)" x2="\#(x)" y2="\#(top + end)"/>"#,
            #"<text x="\#(left - 8)" y="\#(y)" text-anchor="end">\#(states[index])</text>"#,
            #"<text transform="translate(\#(x) \#(top - 8)) rotate(-90)">\#(states[index])</text>"#,
        ]
    }

    private static var dots: [String] {
        states.enumerated().flatMap { row, from in
            states.enumerated().compactMap { column, to in
                guard leads(from, to) else { return nil }
                let (x, y) = (left + cell * column + cell / 2, top + cell * row + cell / 2)
                return #"<circle class="\#(to.phase)" cx="\#(x)" cy="\#(y)" r="6"/>"#
            }
        }
    }

    private static func leads(_ from: SessionState.Kind, _ to: SessionState.Kind) -> Bool {
        ConnectionMachine.rules.contains { $0.from == from && $0.to == to }
    }
}

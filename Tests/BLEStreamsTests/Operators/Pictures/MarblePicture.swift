/// A picture of marble diagrams, as SVG: the inputs, the call, and what comes out.
struct MarblePicture {
    private static let step = 46
    private static let height = 56
    private static let left = 40

    private var lines: [String] = []
    private var y = height / 2

    let width: Int

    init(_ picture: OperatorPicture, output: String) {
        let all = picture.inputs.flatMap { $0.split(separator: ",").map(String.init) } + [output]
        let seconds = all.compactMap { Marbles($0).marks.last?.second }.max() ?? 0
        width = max(Self.left + Self.step * (seconds + 2), picture.code.count * 10 + 2 * Self.left)
        for input in picture.inputs {
            for diagram in input.split(separator: ",") { draw(Marbles(String(diagram))) }
        }
        drawCall(picture.code)
        draw(Marbles(output))
        let title = (picture.inputs + [picture.code, output]).joined(separator: "   ")
        lines.insert("<title>\(Self.escaped(title))</title>", at: 0)
    }

    /// The whole file. It follows the reader's choice of a dark appearance.
    var text: String {
        """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(y - Self.height / 2)" width="\(width)">
        <style>
        text { font: 15px ui-monospace, monospace; fill: #1d1d1f; text-anchor: middle; dominant-baseline: central }
        line, path { stroke: #6e6e73; stroke-width: 2; fill: none }
        circle, ellipse { fill: #cfe3ff; stroke: #0066cc; stroke-width: 2 }
        rect { fill: #f5f5f7; stroke: #6e6e73 }
        .failure { stroke: #d70015; stroke-width: 3 }
        @media (prefers-color-scheme: dark) {
        text { fill: #f5f5f7 } circle, ellipse { fill: #003a75; stroke: #2997ff } rect { fill: #2c2c2e }
        line, path, rect { stroke: #98989d } .failure { stroke: #ff6961 }
        }
        </style>
        \(lines.joined(separator: "\n"))
        </svg>

        """
    }

    private mutating func draw(_ marbles: Marbles) {
        let last = marbles.marks.last
        let isOver = last.map { [.end, .failure, .cancellation].contains($0.event) } ?? false
        let end = isOver ? x(last?.second ?? 0) : width - 12
        lines.append(#"<line x1="\#(Self.left - 24)" y1="\#(y)" x2="\#(end)" y2="\#(y)"/>"#)
        if !isOver { lines.append(#"<path d="M\#(end - 6) \#(y - 6) l6 6 l-6 6"/>"#) }
        for (second, marks) in Dictionary(grouping: marbles.marks, by: \.second).sorted(by: { $0.key < $1.key }) {
            // What happens in the same second stands side by side.
            for (index, mark) in marks.enumerated() {
                draw(mark.event, x(second) + index * Self.step * 2 / 5)
            }
        }
        y += Self.height
    }

    private mutating func draw(_ event: Marbles.Event, _ x: Int) {
        switch event {
        case .element(let text):
            let radius = max(15, 5 * text.count + 4)
            lines.append(#"<ellipse cx="\#(x)" cy="\#(y)" rx="\#(radius)" ry="15"/>"#)
            lines.append(#"<text x="\#(x)" y="\#(y)">\#(Self.escaped(text))</text>"#)
        case .end:
            lines.append(#"<line x1="\#(x)" y1="\#(y - 15)" x2="\#(x)" y2="\#(y + 15)"/>"#)
        case .failure, .cancellation:
            lines.append(#"<path class="failure" d="M\#(x - 10) \#(y - 10) l20 20 m0 -20 l-20 20"/>"#)
        case .interruption, .loss:
            lines.append(#"<path class="failure" d="M\#(x - 14) \#(y) l7 -10 l7 20 l7 -20 l7 10"/>"#)
        }
    }

    private mutating func drawCall(_ code: String) {
        let top = y - Self.height / 2 + 8
        lines.append(#"<rect x="8" y="\#(top)" width="\#(width - 16)" height="\#(Self.height - 16)" rx="8"/>"#)
        lines.append(#"<text x="\#(width / 2)" y="\#(y)">\#(Self.escaped(code))</text>"#)
        y += Self.height
    }

    private func x(_ second: Int) -> Int { Self.left + second * Self.step }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}

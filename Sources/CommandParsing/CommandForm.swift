/// What a command takes, and what it was given. Of an option that is given twice the last value counts, so that a line
/// with defaults can be extended.
package struct CommandForm {
    /// An option, or the operand.
    struct Field {
        enum Kind {
            case flag, option, repeatable, operand
        }

        let kind: Kind
        let name: String
        /// What the value is, for the help; empty for a flag.
        let value: String
        let help: String
        var isRequired = false
        /// The value without the option, for the help.
        var fallback: String?

        /// `--config <file>`, or `<file>`
        var form: String {
            switch self.kind {
            case .flag: "--\(self.name)"
            case .option, .repeatable: "--\(self.name) <\(self.value)>"
            case .operand: "<\(self.value)>"
            }
        }
    }

    /// In the order in which the command asks for them.
    private(set) var fields: [Field] = []
    /// The first thing that is wrong with what was given.
    private(set) var fault: UsageError?
    private let options: [String: [String]]
    private let operand: String?

    /// - Parameter options: The values of each option, as given; a flag has an empty one.
    init(options: [String: [String]] = [:], operand: String? = nil) {
        self.options = options
        self.operand = operand
    }

    /// Whether `--name` is given.
    package mutating func flag(_ name: String, _ help: String) -> Bool {
        self.fields.append(Field(kind: .flag, name: name, value: "", help: help))
        return self.options[name] != nil
    }

    /// The value of `--name`.
    package mutating func option(_ name: String, _ value: String, _ help: String) -> String? {
        self.fields.append(Field(kind: .option, name: name, value: value, help: help))
        return self.options[name]?.last
    }

    /// The value of `--name`, which has a default.
    package mutating func option(_ name: String, _ value: String, default fallback: String, _ help: String) -> String {
        self.fields.append(Field(kind: .option, name: name, value: value, help: help, fallback: fallback))
        return self.options[name]?.last ?? fallback
    }

    /// The number of `--name`, which has a default.
    package mutating func option(
        _ name: String,
        _ value: String,
        default fallback: Int,
        in range: ClosedRange<Int>,
        _ help: String
    ) -> Int {
        let text = self.option(name, value, default: String(fallback), help)
        if let number = Int(text), range.contains(number) { return number }
        self.report("--\(name) must be a number from \(range.lowerBound) to \(range.upperBound)")
        return fallback
    }

    /// The value of `--name`, which must be given; else it is empty and a fault.
    package mutating func required(_ name: String, _ value: String, _ help: String) -> String {
        let field = Field(kind: .option, name: name, value: value, help: help, isRequired: true)
        return self.required(field, self.options[name]?.last)
    }

    /// Each value of `--name`, which may be given several times.
    package mutating func repeatable(_ name: String, _ value: String, _ help: String) -> [String] {
        self.fields.append(Field(kind: .repeatable, name: name, value: value, help: help))
        return self.options[name] ?? []
    }

    /// The word that is no option, which must be given; else it is empty and a fault.
    package mutating func operand(_ value: String, _ help: String) -> String {
        self.required(Field(kind: .operand, name: value, value: value, help: help, isRequired: true), self.operand)
    }

    private mutating func required(_ field: Field, _ given: String?) -> String {
        self.fields.append(field)
        if given == nil { self.report("\(field.form) is missing: \(field.help)") }
        return given ?? ""
    }

    private mutating func report(_ fault: String) {
        self.fault = self.fault ?? UsageError(fault)
    }
}

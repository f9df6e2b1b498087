package markdown

// The tables are constants in effect: nothing writes to them.

var texFunctions = " arccos arcsin arctan arg cos cosh cot coth csc deg det dim exp gcd hom inf ker lg lim liminf limsup ln log max min Pr sec sin sinh sup tan tanh argmax argmin mod bmod "

var texLetters = map[string]string{
	"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ϵ", "varepsilon": "ε", "zeta": "ζ",
	"eta": "η", "theta": "θ", "vartheta": "ϑ", "iota": "ι", "kappa": "κ", "lambda": "λ", "mu": "μ", "nu": "ν",
	"xi": "ξ", "pi": "π", "varpi": "ϖ", "rho": "ρ", "varrho": "ϱ", "sigma": "σ", "varsigma": "ς", "tau": "τ",
	"upsilon": "υ", "phi": "ϕ", "varphi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω",
	"Gamma": "Γ", "Delta": "Δ", "Theta": "Θ", "Lambda": "Λ", "Xi": "Ξ", "Pi": "Π", "Sigma": "Σ", "Upsilon": "Υ",
	"Phi": "Φ", "Psi": "Ψ", "Omega": "Ω",
	"infty": "∞", "partial": "∂", "nabla": "∇", "ell": "ℓ", "hbar": "ℏ", "Re": "ℜ", "Im": "ℑ", "aleph": "ℵ",
	"emptyset": "∅", "varnothing": "∅", "imath": "ı", "jmath": "ȷ", "angle": "∠", "degree": "°", "top": "⊤", "bot": "⊥",
	"ldots": "…", "dots": "…", "cdots": "⋯", "vdots": "⋮", "ddots": "⋱", "dotsc": "…", "dotsb": "⋯",
	"%": "%", "$": "$", "#": "#", "&": "&amp;", "_": "_", "S": "§",
}

var texOperators = map[string]string{
	"cdot": "⋅", "times": "×", "div": "÷", "pm": "±", "mp": "∓", "ast": "∗", "star": "⋆", "circ": "∘", "bullet": "∙",
	"oplus": "⊕", "ominus": "⊖", "otimes": "⊗", "odot": "⊙", "wedge": "∧", "land": "∧", "vee": "∨", "lor": "∨",
	"cap": "∩", "cup": "∪", "setminus": "∖", "neg": "¬", "lnot": "¬", "dagger": "†", "triangle": "△",
	"leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "neq": "≠", "ne": "≠", "approx": "≈", "equiv": "≡", "sim": "∼",
	"simeq": "≃", "cong": "≅", "propto": "∝", "ll": "≪", "gg": "≫", "prec": "≺", "succ": "≻", "perp": "⊥",
	"parallel": "∥", "mid": "∣", "nmid": "∤", "in": "∈", "notin": "∉", "ni": "∋", "subset": "⊂", "subseteq": "⊆",
	"subsetneq": "⊊", "supset": "⊃", "supseteq": "⊇", "forall": "∀", "exists": "∃", "nexists": "∄", "vdash": "⊢",
	"models": "⊨", "to": "→", "rightarrow": "→", "leftarrow": "←", "gets": "←", "leftrightarrow": "↔",
	"Rightarrow": "⇒", "implies": "⟹", "Leftarrow": "⇐", "Leftrightarrow": "⇔", "iff": "⟺", "mapsto": "↦",
	"longrightarrow": "⟶", "longleftarrow": "⟵", "uparrow": "↑", "downarrow": "↓", "hookrightarrow": "↪",
	"rightleftharpoons": "⇌", "nearrow": "↗", "searrow": "↘",
	"sum": "∑", "prod": "∏", "coprod": "∐", "int": "∫", "iint": "∬", "iiint": "∭", "oint": "∮", "bigcup": "⋃",
	"bigcap": "⋂", "bigoplus": "⨁", "bigotimes": "⨂", "bigvee": "⋁", "bigwedge": "⋀",
	"{": "{", "}": "}", "|": "‖", "lbrace": "{", "rbrace": "}", "langle": "⟨", "rangle": "⟩", "lfloor": "⌊",
	"rfloor": "⌋", "lceil": "⌈", "rceil": "⌉", "vert": "|", "Vert": "‖", "lVert": "‖", "rVert": "‖", "lvert": "|",
	"rvert": "|", "colon": ":", "therefore": "∴", "because": "∵", "prime": "′", "backslash": "∖", "square": "□", "blacksquare": "■",
}

var texAccents = map[string]string{
	"hat": "^", "widehat": "^", "bar": "¯", "overline": "¯", "vec": "→", "overrightarrow": "→", "tilde": "~",
	"widetilde": "~", "dot": "˙", "ddot": "¨", "check": "ˇ", "acute": "´", "grave": "`", "breve": "˘",
	"underline": "_", "underbrace": "⏟", "overbrace": "⏞",
}

var texAlphabets = map[string]string{
	"mathrm": "rm", "mathit": "it", "mathbf": "bf", "boldsymbol": "bf", "bm": "bf", "mathbb": "bb", "mathcal": "cal",
	"mathscr": "cal", "mathfrak": "frak", "mathsf": "sf", "mathtt": "tt",
}

// mathAlphabets: first capital, first small letter, first digit.
var mathAlphabets = map[string][3]rune{
	"bf": {0x1d400, 0x1d41a, 0x1d7ce}, "bb": {0x1d538, 0x1d552, 0x1d7d8}, "cal": {0x1d49c, 0x1d4b6, 0},
	"frak": {0x1d504, 0x1d51e, 0}, "sf": {0x1d5a0, 0x1d5ba, 0x1d7e2}, "tt": {0x1d670, 0x1d68a, 0x1d7f6},
}

// mathLetters are those that Unicode had before it had the alphabets.
var mathLetters = map[string]rune{
	"bbC": 'ℂ', "bbH": 'ℍ', "bbN": 'ℕ', "bbP": 'ℙ', "bbQ": 'ℚ', "bbR": 'ℝ', "bbZ": 'ℤ',
	"calB": 'ℬ', "calE": 'ℰ', "calF": 'ℱ', "calH": 'ℋ', "calI": 'ℐ', "calL": 'ℒ', "calM": 'ℳ', "calR": 'ℛ',
	"cale": 'ℯ', "calg": 'ℊ', "calo": 'ℴ',
	"frakC": 'ℭ', "frakH": 'ℌ', "frakI": 'ℑ', "frakR": 'ℜ', "frakZ": 'ℨ',
}

// texEnvironments: opening and closing fence.
var texEnvironments = map[string]string{
	"matrix": " ", "smallmatrix": " ", "pmatrix": "( )", "bmatrix": "[ ]", "vmatrix": "| |", "Vmatrix": "‖ ‖", "Bmatrix": "{ }",
	"cases": "{ ", "aligned": " ", "align": " ", "split": " ", "gathered": " ", "gather": " ", "array": " ", "equation": " ",
	"eqnarray": " ",
}

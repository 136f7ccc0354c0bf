"""The words that names of tests, pins and rails are made of; every product draws its own from them.

A key is what the generator calls a thing, its row what programs write for it, the most common first: full words,
abbreviations and habits of houses. Some stand in several rows on purpose, so that few words alone tell a class.
"""

SYNONYMS = {
    # contact
    "cont": ("cont", "os", "opens", "diode", "conty", "contact", "esd", "cnt"),
    "pos": ("pos", "up", "p", "vdd", "hi side", "src"), "neg": ("neg", "dn", "n", "vss", "lo side", "snk"),
    "rc": ("rcon", "res", "path r", "kelvin", "cres", "rpath", "ohms"),
    "again": ("2nd", "end", "again", "post", "recheck", "late"), "sub": ("sub", "pad", "ep", "bulk", "tab"),
    "adj": ("adj", "p2p", "x", "next", "neigh", "short"),
    "short": ("short", "pwr chk", "ps", "supply chk", "sht", "power up chk", "rail", "gross"),
    # leakage
    "leak": ("leak", "lkg", "ilk", "il", "leakage", "iin", "lk", "ilkg"),
    "ih": ("ih", "hi", "high", "vdd", "iih", "h", "up"), "il": ("il", "lo", "low", "vss", "iil", "l", "dn"),
    "ioz": ("ioz", "hiz", "tri", "oz", "tristate", "off state", "z"),
    "sw": ("sw", "mos", "pwr", "drv", "fet", "dmos", "switch"), "pull": ("pull", "rpu", "pu", "weak pu", "keeper"),
    "stress": ("stress", "post", "after hv", "str", "burn", "delta"),
    "ioff": ("ioff", "unpwr", "poff", "failsafe", "fs"),
    "inter": ("inter", "x", "iso", "dom", "rail2rail", "cross"), "ain": ("ain", "ref", "in", "ana", "chan", "vin"),
    # supply current
    "idd": ("idd", "icc", "iq", "isup", "i", "ivdd", "curr", "cons"),
    "static": ("stat", "static", "dc", "idle", "quiet", "base"),
    "stby": ("stby", "standby", "sb", "lp", "halt", "low pwr"), "sleep": ("sleep", "slp", "deep", "stop", "ps", "hib"),
    "active": ("act", "dyn", "run", "active", "oper", "full", "load"),
    "iddq": ("iddq", "isb", "iq vec", "q", "qsc", "quies", "issq"),
    "post": ("post", "end", "fin", "2nd", "after", "re"), "inrush": ("inrush", "peak", "pwr up", "ramp", "surge"),
    "per": ("ip", "mod", "blk", "en", "on", "delta"),
    # reference, regulators, trim
    "ref": ("vref", "ref", "vbg", "bg", "bgap", "bandgap", "refv", "vrf"),
    "bef": ("bef", "pre", "raw", "init", "untrim", "initial", "0"), "aft": ("aft", "post", "fin", "final", "done", "2"),
    "trim": ("trim", "zap", "cal", "adj", "trm", "tune", "calib"),
    "code": ("code", "idx", "val", "sel", "bits", "word", "setting"),
    "ldo": ("ldo", "vreg", "vcore", "reg", "vout", "regulator", "pmu"),
    "line": ("line", "psr", "lnr", "line reg", "dvin", "vs"), "load": ("load", "ld", "full", "max i", "ldr", "loaded"),
    "noload": ("nold", "0ma", "idle", "nl", "open", "unld"),
    "iref": ("iref", "ibias", "i ref", "bias", "iptat", "icur", "mir"),
    "uvlo": ("uvlo", "por", "bor", "th", "pgood", "lvd", "vmon"), "noise": ("noise", "rms", "vn", "nse", "0r1 10"),
    "settle": ("settle", "tset", "start", "t on", "ramp", "trise"), "drop": ("dropout", "vdo", "hdrm", "ldrop"),
    "otp": ("otp", "fuse", "nvm", "read", "efuse", "antifuse"), "sim": ("sim", "step", "s", "try", "sweep", "tap"),
    "dip": ("dip", "trans", "step", "ovs", "ld step"), "ilim": ("ilim", "clim", "isc", "max i", "limit"),
    # levels
    "voh": ("voh", "oh", "drv h", "v out h", "high lvl"), "vol": ("vol", "ol", "drv l", "v out l", "low lvl"),
    "vih": ("vih", "in h", "vth r", "thr h", "vt up"), "vil": ("vil", "in l", "vth f", "thr l", "vt dn"),
    # timing
    "tsu": ("tsu", "setup", "ts", "t su", "su", "tset", "t is"), "th": ("th", "hold", "t h", "hld", "thd", "t ih"),
    "tpd": ("tpd", "tco", "delay", "t out", "prop", "tdly", "tov"),
    "fmax": ("fmax", "freq", "clk max", "speed", "f max", "fop", "maxf"),
    "duty": ("duty", "dcyc", "dc", "ratio", "dty"), "skew": ("skew", "dt", "clk dt", "tskew", "mismatch"),
    "eye": ("eye", "win", "margin", "window", "strobe", "width"),
    "taa": ("taa", "acc", "access", "t rd", "tacc", "toe"), "clk": ("clk", "ck", "sclk", "clock", "mclk"),
    "ring": ("ring", "ro", "pmon", "procmon", "psro", "dly line"), "slew": ("slew", "tr", "edge", "trf", "rise"),
    "sso": ("sso", "all", "simul", "agg", "noisy"), "tz": ("tz", "dis", "hiz", "t off", "oe"),
    "tpw": ("tpw", "pw", "width", "min p", "pulse"),
    # scan
    "scan": ("scan", "atpg", "sc", "dft", "scn", "tk", "struct"),
    "chain": ("chain", "shift", "integ", "flush", "chn", "scanchk", "tp"),
    "stuck": ("sa", "stuck", "logic", "core", "saf", "static", "sat"),
    "tdf": ("tdf", "trans", "delay", "atspeed", "tf", "loc", "ac"),
    "edt": ("edt", "comp", "xor", "compr", "decomp", "misr"), "wrap": ("wrap", "iso", "core2core", "extest", "intf"),
    "jtag": ("jtag", "tap", "id", "dbg", "idcode", "port"), "bsr": ("bsr", "extest", "io", "bscan", "ring"),
    "lbist": ("lbist", "sig", "logic", "lb", "selftest", "prpg"),
    # memories
    "mem": ("mem", "ram", "mbist", "array", "sram", "mb", "bist"),
    "march": ("march", "mc", "alg1", "rw", "marchc", "m14n", "base"),
    "ckbd": ("alg2", "bg", "pat", "chk", "ckb", "stripe", "data"),
    "ret": ("ret", "pause", "hold", "dr", "retn", "wait"),
    "uniq": ("addr", "uniq", "alg3", "galp", "walk", "adr"), "rep": ("rep", "redun", "spare", "bira", "repair", "red"),
    "rom": ("rom", "crc", "code", "romchk", "csum"), "flash": ("flash", "nvm", "ee", "margin", "fl", "eeprom"),
    "port": ("portb", "2p", "dual", "pb", "b side"), "dist": ("dist", "rdist", "hammer", "multi rd", "alg5"),
    "ecc": ("ecc", "corr", "parity", "secded", "fix"),
    # functions
    "func": ("func", "fn", "vec", "pat", "ft", "functional", "run", "tv"),
    "boot": ("boot", "init", "start", "por", "startup", "rst", "bringup"),
    "wake": ("wake", "resume", "pd exit", "wkup", "exit"), "reset": ("reset", "default", "rstval", "init", "regs"),
    "mode": ("mode", "strap", "entry", "tmode", "cfg"), "prog": ("prog", "selfchk", "core", "asm", "exec"),
    # analog
    "pll": ("pll", "clkgen", "synth", "dpll", "apll", "cgu", "fll"),
    "lock": ("lock", "lk", "ld", "rdy", "locked", "lkdet", "flag"),
    "ltime": ("tlock", "t lk", "ts", "wait", "lktime", "settle"),
    "jit": ("jit", "jitter", "pn", "rms", "tj", "per jit"), "vco": ("vco", "freq", "fout", "osc", "fvco", "f0"),
    "spur": ("spur", "sfdr", "refspur", "leakthru"), "tune": ("vctl", "vtune", "cp", "vc", "loopv"),
    "adc": ("adc", "sar", "conv", "a2d", "sd", "cnv"), "dac": ("dac", "d2a", "out", "idac", "vdac"),
    "inl": ("inl", "lin", "il", "linearity", "bestfit"), "dnl": ("dnl", "dl", "step", "difflin", "mono"),
    "snr": ("snr", "sinad", "noise", "enob", "dr"), "thd": ("thd", "dist", "hd3", "harm", "hd2"),
    "off": ("off", "offset", "os", "vos", "zero", "ofs"), "gain": ("gain", "fs", "ge", "fullscale", "gerr", "slope"),
    "cmp": ("cmp", "comp", "amp", "opa", "buf", "pga"), "gbw": ("gbw", "bw", "f3db", "unity"),
    "osc": ("osc", "rco", "hsi", "freq", "rcosc", "clk int", "lsi"),
    "ser": ("ser", "phy", "lane", "rx", "serdes", "link"), "ber": ("ber", "err", "prbs", "errs", "bist"),
    "amp": ("amp", "swing", "lvl", "vpp", "ampl"), "mux": ("mux", "chan", "sel", "ch", "sw"),
    "rf": ("rf", "tx", "lna", "pa", "rfout"), "tsen": ("tsens", "ptat", "dietemp", "tempco", "ts"),
    # tester
    "temp": ("temp", "tsens", "chuck", "tj", "tcase", "therm", "deg"), "gnd": ("gnd", "agnd", "sense", "vss", "dutgnd"),
    "dps": ("dps", "vi", "src", "ps", "force", "vsup"),
    "board": ("rid", "board", "lb", "hwid", "dib", "ext r", "rcal"),
    # conditions
    "vmin": ("vmin", "lv", "min", "vl", "low", "0v9"), "vnom": ("vnom", "nom", "typ", "vn", "mid"),
    "vmax": ("vmax", "hv", "max", "vh", "high", "1v1"), "slow": ("slow", "lf", "10m", "ls", "1mhz", "half"),
    "fast": ("fast", "hf", "spd", "hs", "100m", "rated"),
}

PERIPHERALS = ("spi", "i2c", "uart", "timer", "gpio", "dma", "irq", "cpu", "regs", "can", "pwm", "crc", "usb", "rtc",
               "aes", "wdog", "lin", "qspi", "i2s", "sdio", "mac", "lcd", "bus", "fpu", "mmu", "cache", "ipc", "sha",
               "eth", "dsp", "cap", "enc")
BANKS = ("PA{}", "PB{}", "D{}", "IO{}", "GPIO_{}", "A{}", "DQ{}", "P{}", "DIO{}", "BUS{}", "OUT{}", "IN{}", "PIN{}",
         "AD{}", "SEG{}", "COM{}", "DATA_{}", "ADDR{}", "PC_{}", "P1.{}", "GP{}", "KEY{}", "Q{}", "B{}", "X{}")
RAILS = (("VDD", "VDDIO", "AVDD"), ("VCC", "VCCIO", "VCCA"), ("DVDD", "IOVDD", "AVDD"), ("VCORE", "VIO", "VANA"),
         ("VDD1", "VDD2", "VDD3"), ("VBAT", "VDDD", "VDDA"), ("VDDC", "VDDQ", "VDDPLL"), ("VIN", "VDRV", "VCCD"),
         ("VDD_CORE", "VDD_IO", "VDD_ANA"), ("P1V2", "P3V3", "P1V8A"), ("VSUP", "VDDP", "VDDX"),
         ("VDDL", "VDDH", "VDDR"))
REFERENCE_PINS = ("VREF", "REFOUT", "VREFP", "REF", "TP1", "AMUX", "ATEST", "")
REGULATORS = (("LDO1", "LDO2"), ("LDOA", "LDOB"), ("VREG1", "VREG2"), ("REG_CORE", "REG_ANA"), ("VOUT1", "VOUT2"),
              ("VCAP", "VDDA_INT"))
ANALOG_INPUTS = ("AIN{}", "AN{}", "CH{}", "ADC_IN{}", "VINP{}", "AI{}", "SENSE{}")
CONVERTER_OUTPUTS = ("DAC0", "AOUT", "VOUT_DAC", "DACP", "")
LANES = ("RXP", "RX0", "LANE0", "SDIN", "RXD_P", "")

# Programs put the module before a name or the condition behind it; both say nothing of the cause.
PREFIXES = ("dc", "ac", "main", "fl", "m1", "blk", "seq2", "g1", "tm", "ft", "ws", "q", "p1", "sub1", "flow", "std")
SUFFIXES = ("25c", "rt", "hot", "cold", "tt", "ss", "r1", "v2", "a", "st", "x1", "t1", "85", "rev b", "gb", "qa",
            "m", "1")
CASES = ("snake", "SNAKE", "camel", "space", "SNAKE", "snake", "Snake", "kebab", "dots", "SPACE", "lower", "colons")


def pick(rng, row):
    """A word of a row; half of the programs keep to the common ones."""
    return rng.choice(row[:4] if rng.random() < 0.5 else row)

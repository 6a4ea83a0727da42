module weft/bench

go 1.20
